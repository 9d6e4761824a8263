"""The one place that knows which kinds of model can be explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sklearn.pipeline import Pipeline

from ensemblage.explain._decision import RowDecision, check_row
from ensemblage.explain._explanation import Explanation, Subject
from ensemblage.explain._linear_model import LinearExplanation
from ensemblage.explain._network_model import NetworkExplanation
from ensemblage.explain._other_model import OtherExplanation
from ensemblage.explain._pool_model import PoolExplanation
from ensemblage.explain._strata_facts import describe_training
from ensemblage.explain._strata_model import StrataExplanation
from ensemblage.explain._subspaces_model import SubspacesExplanation
from ensemblage.explain._tree_model import TreeExplanation
from ensemblage.parallel import final_step
from ensemblage.strata import StrataDescription
from ensemblage.tables import as_pipeline, is_frame, read_columns

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
    kinds : sequence of {"number", "word", "date"}, default=()
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
    >>> from ensemblage.explain import explain_model
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
