"""What a strata model is made of, and how it decided about one row."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage.strata import StrataEnsembleClassifier


@dataclass(frozen=True)
class MemberFacts:
    """One member of a strata model.

    Parameters
    ----------
    member : str
        What to call it: its stratum's number or name, or ``anchor`` for a member on all rows.
    estimator : str
        Its kind; of a pipeline, the last step's.
    n_rows : int
        Rows that it learned from.
    classes : list of str
        Classes among them.
    weight : float or None
        Its share in the fusion; None where the fusion has no such number.
    score : float or None
        Accuracy on rows of its stratum that it had not seen; None if not measured.
    closest : float or None
        Share of the rows, in training or in the data given, whose strongest stratum is its own;
        None for an anchor.
    """

    member: str
    estimator: str
    n_rows: int
    classes: list[str]
    weight: float | None
    score: float | None
    closest: float | None


@dataclass(frozen=True)
class Explanation:
    """What a strata model learned.

    Parameters
    ----------
    stratifier, fusion : str
        Kinds of strata and fusion.
    n_strata : int
        Number of strata.
    stratum_size : float or None
        Share of the rows per stratum that was chosen or set.
    rows : {"training", "given"}
        What ``closest`` counts.
    members : tuple of MemberFacts
        Stratum by stratum, anchors last.
    """

    stratifier: str
    fusion: str
    n_strata: int
    stratum_size: float | None
    rows: str
    members: tuple[MemberFacts, ...]


def explain_model(model: Any, X: Any = None) -> Explanation:
    """Look into a fitted strata model.

    Parameters
    ----------
    model : StrataEnsembleClassifier or Pipeline
        Fitted; a pipeline ends in one.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to count; those of the training if not given.

    Returns
    -------
    Explanation
        Facts per member.

    Examples
    --------
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.explain import explain_model
    >>> from ensemblage.strata import HISS, StrataEnsembleClassifier
    >>> X, y = make_multi_source(3, 300, random_state=0)
    >>> model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    >>> [facts.n_rows for facts in explain_model(model).members]
    [90, 90, 90]
    """
    ensemble, rows = _unfold(model, X)
    stratifier = _last(ensemble.stratifier_)
    shares = _closest_shares(ensemble, rows)
    fitted = [*ensemble.estimators_, *ensemble.anchors_]
    members = tuple(
        MemberFacts(
            member=_member_name(stratifier, facts["stratum"]),
            estimator=type(_last(member)).__name__,
            n_rows=facts["n_rows"],
            classes=[str(label) for label in facts["classes"]],
            weight=facts["weight"],
            score=facts["score"],
            closest=None if facts["stratum"] is None else float(shares[facts["stratum"]]),
        )
        for facts, member in zip(ensemble.member_report_, fitted, strict=True)
    )
    return Explanation(
        type(stratifier).__name__, type(ensemble.fusion_).__name__, ensemble.n_strata_,
        ensemble.stratum_size_, "training" if X is None else "given", members,
    )  # fmt: skip


def explain_row(model: Any, X: Any, row: int) -> dict[str, Any]:
    """Tell which strata and members decided about one row.

    Parameters
    ----------
    model : StrataEnsembleClassifier or Pipeline
        Fitted; a pipeline ends in one.
    X : array-like of shape (n_rows, n_features)
        Rows.
    row : int
        Which of them, from 0.

    Returns
    -------
    dict
        ``row``, ``prediction``, ``classes``, ``scores``, and ``members``: per member its name,
        the row's membership in its stratum, its own outputs and its share in the decision, None
        where there is no such number.
    """
    if not 0 <= row < len(X):
        raise ValueError(f"There is no row {row}: the data have rows 0 to {len(X) - 1}.")
    ensemble, rows = _unfold(model, X[row : row + 1])
    story = ensemble.explain_row(rows)
    weights = story["weights"]
    members = [
        {
            "member": _member_name(_last(ensemble.stratifier_), facts["stratum"]),
            "membership": _of_stratum(story["strata"], facts["stratum"]),
            "outputs": [float(each) for each in outputs],
            "weight": None if weights is None else float(weights[i]),
        }
        for i, (facts, outputs) in enumerate(
            zip(ensemble.member_report_, story["members"], strict=True)
        )
    ]
    return {
        "row": row,
        "prediction": str(story["prediction"]),
        "classes": [str(label) for label in ensemble.classes_],
        "scores": [float(each) for each in story["scores"]],
        "members": members,
    }


def draw_strata(model: Any, X: Any, y: Any = None, *, kind: str = "png") -> bytes:
    """Draw the map of a model's strata.

    Parameters
    ----------
    model : StrataEnsembleClassifier or Pipeline
        Fitted; a pipeline ends in one.
    X : array-like of shape (n_rows, n_features)
        Rows to show.
    y : array-like of shape (n_rows,), default=None
        Their classes, for colours; otherwise colours are strata.
    kind : {"png", "svg", "pdf"}, default="png"
        Format of the picture.

    Returns
    -------
    bytes
        The file.
    """
    from ensemblage.evaluation import StrataDisplay  # noqa: PLC0415  needs matplotlib

    buffer = io.BytesIO()
    display = StrataDisplay.from_estimator(model, X, y)
    display.figure_.savefig(buffer, format=kind, dpi=150)
    return buffer.getvalue()


def plain_explanation(explanation: Explanation) -> dict[str, Any]:
    """Turn an explanation into what JSON can hold.

    Parameters
    ----------
    explanation : Explanation
        Facts.

    Returns
    -------
    dict
        The same.
    """
    return {**asdict(explanation), "members": [asdict(each) for each in explanation.members]}


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _unfold(model: Any, X: Any) -> tuple[StrataEnsembleClassifier, Any]:
    """Give the ensemble inside a model, and the rows as they reach it."""
    if isinstance(model, Pipeline):
        before = model[:-1] if len(model) > 1 else None
        return _unfold(model[-1], X if X is None or before is None else before.transform(X))
    if not isinstance(model, StrataEnsembleClassifier):
        raise ValueError(  # noqa: TRY004  the value of a file, not of a call
            f"This is a {type(model).__name__}; only models with strata can be explained. "
            "`ensemblage fit --method strata` makes one."
        )
    return model, X


def _closest_shares(ensemble: StrataEnsembleClassifier, rows: Any) -> np.ndarray:
    """Share of the rows whose strongest stratum is each; equals share a row evenly."""
    stratifier = ensemble.stratifier_
    memberships = _last(stratifier).memberships_ if rows is None else stratifier.transform(rows)
    memberships = np.asarray(memberships, dtype=float)
    best = memberships.max(axis=1, keepdims=True)
    leading = (memberships >= best - 1e-9) & (best > 0)
    return (leading / np.maximum(leading.sum(axis=1, keepdims=True), 1)).mean(axis=0)


def _of_stratum(memberships: np.ndarray, stratum: int | None) -> float | None:
    return None if stratum is None else float(memberships[stratum])


def _member_name(stratifier: Any, stratum: int | None) -> str:
    if stratum is None:
        return "anchor"
    sources = getattr(stratifier, "sources_", None)
    return str(stratum) if sources is None else str(sources[stratum])
