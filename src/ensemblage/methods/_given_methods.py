"""Methods as a caller gives them: names, estimators of one's own, or both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import joblib
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from ensemblage.messages import CLASSIFICATION, REGRESSION, Task
from ensemblage.methods._method import Method
from ensemblage.methods._registry import METHODS_OF, get_method

Given: TypeAlias = Mapping[str, Any] | Iterable[Any] | None
"""Names, estimators, or both; a mapping calls each by a name; None stands for the usual ones."""


def named_methods(
    given: Given,
    *,
    task: Task = CLASSIFICATION,
    sources: bool,
    quick: bool = False,
    n_columns: int = 0,
) -> dict[str, Method]:
    """Look up names and take estimators for methods; ``sources`` are known or not."""
    if given is None:
        given = usual_methods(task=task, sources=sources, quick=quick, n_columns=n_columns)
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        found = {str(name): _called(_method(each, str(name), task), str(name))
                 for name, each in given.items()}  # fmt: skip
    else:
        found = {}
        for each in given:
            method = _method(each, type(each).__name__, task)
            if found.get(method.name, method) is not method:
                raise ValueError(
                    f"`methods` has two estimators called {method.name!r}: give a mapping from "
                    "names of your own to the estimators."
                )
            found[method.name] = method
    if not found:
        raise ValueError(
            "`methods` is empty: name one or more, or leave it out for the usual ones."
        )
    return found


def usual_methods(
    *, task: Task = CLASSIFICATION, sources: bool, quick: bool = False, n_columns: int = 0
) -> list[str]:
    """Name all methods that can be run with or without known sources, or quickly."""
    return [
        name
        for name, each in METHODS_OF[task.name].items()
        if (sources or not each.needs_sources)
        and not (quick and each.quick is None)
        and not _too_many(n_columns, each)
    ]


def wide_notes(task: Task, quick: bool, n_columns: int) -> list[str]:
    """Say which of the usual methods do not take so many columns."""
    return [
        f"{each.label} is left out: its time grows with the square of the columns, and there are "
        f"more than {each.most_columns}. Name it by `methods` to have it all the same."
        for each in METHODS_OF[task.name].values()
        if _too_many(n_columns, each) and not (quick and each.quick is None)
    ]


def _too_many(n_columns: int, method: Method) -> bool:
    return method.most_columns is not None and n_columns > method.most_columns


def digest_of(method: Method) -> str:
    """Tell estimators of the same name apart by a hash; a method of the registry has none."""
    known = any(methods.get(method.name) is method for methods in METHODS_OF.values())
    return "" if known else str(joblib.hash(method.factory))


def _method(given: Any, name: str, task: Task) -> Method:
    if isinstance(given, str):
        return get_method(given, task.name)
    predicts, wanted = (
        (is_regressor, "regressor") if task is REGRESSION else (is_classifier, "classifier")
    )
    if not hasattr(given, "fit") or not predicts(given):
        raise TypeError(
            f"`methods` has {given!r} as {name!r}: give the name of a method, one of "
            f"{', '.join(METHODS_OF[task.name])}, or a {wanted} that is not fitted."
        )
    ours = type(given).__module__.partition(".")[0] == "ensemblage"
    return Method(
        name, name, "an estimator of one's own", partial(_copy, given), ours=ours,
        takes_tables=isinstance(given, Pipeline),
    )  # fmt: skip


def _called(method: Method, name: str) -> Method:
    return method if method.name == name else replace(method, name=name, label=name)


def _copy(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs  # free seeds are set by the study
    return clone(estimator)
