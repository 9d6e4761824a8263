"""The one place that knows which kinds of model can be explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ensemblage.explain._explanation import Explanation, Subject
from ensemblage.explain._network_model import NetworkExplanation
from ensemblage.explain._strata_model import StrataExplanation
from ensemblage.explain._subspaces_model import SubspacesExplanation
from ensemblage.parallel import final_step

KINDS: tuple[type[Explanation], ...] = (
    StrataExplanation,
    NetworkExplanation,
    SubspacesExplanation,
)


def explanation_documents() -> list[type[msgspec.Struct]]:
    """All that ``ensemblage explain --json`` can print."""
    return [document for kind in KINDS for document in kind.documents]


def kind_of(model: Any) -> type[Explanation]:
    """Find the explanation that a fitted model has; a ValueError names those that there are."""
    estimator = final_step(model)
    for kind in KINDS:
        if kind.explains(estimator):
            return kind
    *some, last = (kind.has for kind in KINDS)
    raise ValueError(
        f"This is a {type(estimator).__name__}; only models with {', '.join(some)} or {last} can "
        "be explained."
    )


def explain_model(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    columns: Sequence[str] = (),
    row: int | None = None,
) -> Explanation:
    """Look into a fitted model.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted: with strata, a network or joint subspaces; a pipeline ends in one.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to look at, where the model has strata; those of the training if not given.
    y : array-like of shape (n_rows,), default=None
        Their classes, for the colours of a map.
    columns : sequence of str, default=()
        The columns of the file, if the model numbers its features.
    row : int, default=None
        The row of ``X`` to follow through the strata.

    Returns
    -------
    Explanation
        Of the model's kind: facts, text, document, page and drawing.

    Examples
    --------
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.explain import explain_model
    >>> from ensemblage.strata import HISS, StrataEnsembleClassifier
    >>> X, y = make_multi_source(3, 300, random_state=0)
    >>> model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    >>> [member.n_rows for member in explain_model(model).facts.members]
    [90, 90, 90]
    """
    return kind_of(model).of(Subject(model, columns, X, y, row))
