"""A fitted model described by its kind, and what it learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage._core import count, final_step
from ensemblage.datasets import as_pipeline, is_frame, read_columns
from ensemblage.report._contributions import RowDecision, check_row
from ensemblage.report._explanation import Explanation, Subject
from ensemblage.report._importance import OtherExplanation
from ensemblage.report._linear import LinearExplanation
from ensemblage.report._network import NetworkExplanation
from ensemblage.report._pool import PoolExplanation
from ensemblage.report._strata import StrataExplanation, describe_training
from ensemblage.report._subspace import SubspacesExplanation
from ensemblage.report._tree import TreeExplanation
from ensemblage.strata import StrataDescription

KINDS: tuple[type[Explanation], ...] = (
    PoolExplanation,
    StrataExplanation,
    NetworkExplanation,
    SubspacesExplanation,
    TreeExplanation,
    LinearExplanation,
    # anything else: what it does with rows, as it cannot be looked into
    OtherExplanation,
)


def explanation_documents() -> list[type[msgspec.Struct]]:
    """All that ``ensemblage explain --json`` can print."""
    return [*(document for kind in KINDS for document in kind.documents), RowDecision]


def kind_of(model: Any) -> type[Explanation]:
    """Find the explanation that a fitted model has."""
    estimator = final_step(model)
    for kind in KINDS:
        if kind.explains(estimator):
            return kind
    raise ValueError(
        f"{type(estimator).__name__} cannot be explained: it is neither a classifier nor a "
        "regressor."
    )


def explain_model(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sources: Any = None,
    columns: Sequence[str] = (),
    row: int | None = None,
    kinds: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
) -> Explanation:
    """Look into a fitted model.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted classifier or regressor, or a pipeline that ends in one.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to look at. A model of strata, a network and a linear model tell what they are made
        of without; other models need rows and their target.
    y : array-like of shape (n_rows,), default=None
        Their classes or numbers, for the colours of a map and to count errors.
    sources : array-like of shape (n_rows,), default=None
        Where they come from, for a pool that was told so.
    columns : sequence of str, default=()
        The columns of the file, if the model numbers its features.
    row : int, default=None
        The row of ``X`` whose decision to explain, from 0.
    kinds : sequence of {"numeric", "categorical", "date"}, default=()
        The kinds of the columns, to write dates as such.
    details : mapping, default=None
        What was noted when the model was saved; ``strata`` among it is what the strata are on
        the training rows.

    Returns
    -------
    Explanation
        Of the model's kind: facts, text, document, page and drawing.

    Examples
    --------
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.report import explain_model
    >>> from ensemblage.strata import HISS, StrataEnsembleClassifier
    >>> X, y = make_multi_source(3, 300, random_state=0)
    >>> model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    >>> [member.n_rows for member in explain_model(model).facts.members]
    [90, 90, 90]
    """
    model = as_pipeline(_without_search(model))
    columns = _columns(model, X, columns)
    if is_frame(X) and not kinds:
        kinds = [column.kind for column in read_columns(X, columns)]
    subject = Subject(model, columns, X, y, row, kinds, details or {}, sources)
    if row is not None:
        check_row(X, row)
    return kind_of(model).of(subject)


def described_strata(
    model: Any, X: Any, y: Any, *, columns: Sequence[str], kinds: Sequence[str]
) -> StrataDescription | None:
    """Tell what a model's strata are on the rows it was fitted on; None if it has no strata."""
    return describe_training(Subject(model, columns, X, y, kinds=kinds))


def _without_search(model: Any) -> Any:
    """Give the best model of a search for parameters, also at the end of a pipeline."""
    best = getattr(final_step(model), "best_estimator_", None)
    if best is None:
        return model
    return Pipeline([*model.steps[:-1], ("model", best)]) if isinstance(model, Pipeline) else best


def _columns(model: Any, X: Any, columns: Sequence[str]) -> Sequence[str]:
    """Name the columns as the caller does, or as the model or the rows do."""
    if len(columns) > 0:
        return columns
    named = getattr(model, "feature_names_in_", getattr(X, "columns", None))
    if named is not None:
        return [str(name) for name in named]
    return [f"x{j}" for j in range(getattr(model, "n_features_in_", 0))]


MOST_STRATA = 3


def what_was_learned(
    model: Pipeline, columns: Sequence[str] = (), described: StrataDescription | None = None
) -> list[str]:
    """Say what a fitted model learned.

    Parameters
    ----------
    model : Pipeline
        As ``make_model`` makes it, fitted.
    columns : sequence of str, default=()
        Names of the table's columns, for a model that was fitted on an array.
    described : StrataDescription, default=None
        What the strata are, of a model that has some.

    Returns
    -------
    list of str
        A line each.
    """
    estimator = model[-1]
    encoder = getattr(estimator, "encoder_", model[:-1])
    width = len(encoder.get_feature_names_out())
    lines = [f"{count(model.n_features_in_, 'column')}, encoded as {count(width, 'feature')}"]
    for describe in (_chosen, _trees, _rounds):
        lines.extend(describe(estimator))
    inside = final_step(estimator)
    for kind in KINDS:
        if kind.explains(inside):
            lines.extend(kind.learned(inside, columns))
            break
    return lines if described is None else [*lines, *_harder(described)]


def _harder(described: StrataDescription) -> Iterator[str]:
    """Name the strata with larger errors than the whole, the largest first."""
    average = described.error or 0.0
    harder = [each for each in described.strata if (each.error or 0.0) > average]
    for each in sorted(harder, key=lambda each: -(each.error or 0.0))[:MOST_STRATA]:
        where = " on training rows" if described.error_rows == "training" else ""
        own, whole = (described.written_error(error) for error in (each.error, average))
        errors = f"error {own}{where}, all rows {whole}"
        yield f"harder than others: {each.name} ({errors})"


def _chosen(estimator: Any) -> Iterator[str]:
    best = getattr(estimator, "best_params_", {})
    if best:
        text = ", ".join(
            f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in best.items()
        )
        yield f"chosen by inner folds: {text}"


def _trees(estimator: Any) -> Iterator[str]:
    trees = getattr(estimator, "estimators_", None)
    if trees is not None and all(hasattr(tree, "get_depth") for tree in trees):
        depth = np.mean([tree.get_depth() for tree in trees])
        yield f"{len(trees)} trees, {depth:.1f} levels deep on average"


def _rounds(estimator: Any) -> Iterator[str]:
    if hasattr(estimator, "n_trees_per_iteration_"):
        yield f"{estimator.n_iter_} boosting rounds"
