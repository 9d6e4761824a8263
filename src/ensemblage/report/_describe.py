"""A fitted model described by its kind, and what it learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ensemblage._core import count, final_step, listing, safe_indexing, write_number
from ensemblage.datasets import as_pipeline, is_frame, read_columns
from ensemblage.report import (
    _importance,
    _linear,
    _network,
    _pool,
    _strata,
    _subspace,
    _tree,
)
from ensemblage.report._blocks import Section
from ensemblage.report._contributions import RowExplanation
from ensemblage.report._explanation import Explanation, ModelContext
from ensemblage.sources import AdaptedRegressor, RecalibratedClassifier
from ensemblage.strata import StrataDescription

# Each module has matches, learned, explain, explain_row and DOCUMENTS; the last takes any model.
KINDS: tuple[Any, ...] = (_pool, _strata, _network, _subspace, _tree, _linear, _importance)
MAX_STRATA = 3
"""Strata with larger errors than all rows together that are noted after a fit."""


def explanation_documents() -> list[type[msgspec.Struct]]:
    """All that ``ensemblage explain --json`` can print."""
    return [*(document for kind in KINDS for document in kind.DOCUMENTS), RowExplanation]


def kind_of(model: Any) -> Any:
    """Find the module that describes a fitted model."""
    estimator = final_step(_without_adaptation(model, {})[0])
    for kind in KINDS:
        if kind.matches(estimator):
            return kind
    raise ValueError(
        f"{type(estimator).__name__} cannot be explained: it is neither a classifier nor a "
        "regressor."
    )


def draws_rows(model: Any) -> bool:
    """Whether the drawing of a model needs rows."""
    return kind_of(model) is _strata


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
    """Explain a fitted model, or its prediction for a row.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted classifier or regressor, or a pipeline that ends in one.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to explain. Strata ensembles, networks, trees, pools and linear models are described
        without; other models need rows and their target.
    y : array-like of shape (n_rows,), default=None
        Their target, for the colours of a map and to count errors.
    sources : array-like of shape (n_rows,), default=None
        Their sources, for a source-aware pool.
    columns : sequence of str, default=()
        The columns of the file, if the model numbers its features.
    row : int, default=None
        The row of ``X`` whose prediction to explain, from 0.
    kinds : sequence of {"numeric", "categorical", "date"}, default=()
        The kinds of the columns, to write dates as such.
    details : mapping, default=None
        What was noted when the model was saved; its entry ``strata`` describes the strata on the
        training rows.

    Returns
    -------
    Explanation
        A document for programs, sentences, tables and a drawing.

    Examples
    --------
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.report import explain_model
    >>> from ensemblage.strata import HISS, StrataEnsembleClassifier
    >>> X, y = make_multi_source(3, 300, random_state=0)
    >>> model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    >>> [member.n_rows for member in explain_model(model).document.members]
    [90, 90, 90]
    """
    adapted = model
    model, adaptation = _without_adaptation(model, details or {})
    model = as_pipeline(_without_search(model))
    columns = _columns(model, X, columns)
    if is_frame(X) and not kinds:
        kinds = [column.kind for column in read_columns(X, columns)]
    if row is not None and X is None:
        raise ValueError(f"`row` = {row} is a row of the data: give `X`.")
    if row is not None and not 0 <= row < len(X):
        raise ValueError(f"There is no row {row}: the data have rows 0 to {len(X) - 1}.")
    context = ModelContext(model, columns, X, y, row, kinds, details or {}, sources)
    kind = kind_of(model)
    explained: Explanation = kind.explain(context)
    explained = replace(explained, sentences=[*adaptation, *explained.sentences])
    if row is None:
        return explained
    document, sections = kind.explain_row(context)
    if adaptation:
        found = _adapted_prediction(adapted, safe_indexing(X, np.array([row])))
        said = f"Row {row}: the adapted model predicts {found}. {adaptation[0]}"
        sections = [Section("Adaptation", [said]), *sections]
        explained = replace(explained, sentences=explained.sentences[1:])
    return replace(explained, document=document, row_sections=sections)


def _adapted_prediction(model: Any, X: Any) -> str:
    """Write what an adapted model predicts for one row."""
    if not hasattr(model, "classes_"):
        return write_number(float(model.predict(X)[0]), 6)
    classes, proba = list(map(str, model.classes_)), model.predict_proba(X)[0]
    shown = listing(f"{name} {p:.3f}" for name, p in zip(classes, proba, strict=True))
    return f"{classes[int(proba.argmax())]} ({shown})"


def _without_adaptation(model: Any, details: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Give the model inside an adapted one, and sentences on what was adapted."""
    if not isinstance(model, (RecalibratedClassifier, AdaptedRegressor)):
        return model, []
    inside = model.estimator_
    inside = inside.estimator if isinstance(inside, FrozenEstimator) else inside
    noted = details.get("adapted", {}).get("summary", f"Calibration slope {model.slope_:.2f}.")
    done = getattr(model, "summary_", noted)
    described = "This model was adapted to a source; what follows describes the model inside it."
    return inside, [f"{described} {done}"]


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


def training_summary(
    model: Pipeline, columns: Sequence[str] = (), described: StrataDescription | None = None
) -> list[str]:
    """List what a fitted model of ``make_model`` learned, to note it after the fit.

    The columns name those of a model that was fitted on an array; strata may be described.
    """
    estimator = model[-1]
    encoder = getattr(estimator, "encoder_", model[:-1])
    width = len(encoder.get_feature_names_out())
    lines = [f"{count(model.n_features_in_, 'column')}, encoded as {count(width, 'feature')}"]
    best = getattr(estimator, "best_params_", {})
    if best:
        pairs = (f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in best.items())
        lines.append(f"hyperparameters chosen by cross-validation: {', '.join(pairs)}")
    trees = getattr(estimator, "estimators_", None)
    if trees is not None and all(hasattr(tree, "get_depth") for tree in trees):
        depth = np.mean([tree.get_depth() for tree in trees])
        lines.append(f"{len(trees)} trees, {depth:.1f} levels deep on average")
    if hasattr(estimator, "n_trees_per_iteration_"):
        lines.append(f"{estimator.n_iter_} boosting rounds")
    inside = final_step(estimator)
    kind = next((each for each in KINDS if each.matches(inside)), None)
    lines.extend([] if kind is None else kind.learned(inside, columns))
    return lines if described is None else [*lines, *hardest_strata(described)]


def hardest_strata(described: StrataDescription) -> Iterator[str]:
    """Name the strata with larger errors than all rows together, the largest first."""
    average = described.error or 0.0
    harder = [each for each in described.strata if (each.error or 0.0) > average]
    for each in sorted(harder, key=lambda each: -(each.error or 0.0))[:MAX_STRATA]:
        where = " on training rows" if described.error_rows == "training" else ""
        own, overall = (described.format_error(error) for error in (each.error, average))
        yield f"highest error: {each.name} ({own}{where}, all rows {overall})"
