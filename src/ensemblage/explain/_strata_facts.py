"""What a strata model is made of, and how it decided about one row."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage.parallel import final_step, rows_at_final_step
from ensemblage.strata import StrataEnsembleClassifier

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(description="Its stratum: a number, the name of a source, or anchor.")]


class MemberFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of a strata model."""

    member: Name
    estimator: Annotated[str, Meta(description="Its class; of a pipeline, the last step's.")]
    n_rows: Annotated[Count, Meta(description="Rows that it learned from.")]
    classes: Annotated[list[str], Meta(description="Classes among them.")]
    weight: Annotated[
        float | None, Meta(description="Its share in the fusion; null where there is none.")
    ]
    score: Annotated[
        Share | None,
        Meta(description="Accuracy on rows of its stratum that it had not seen."),
    ]
    closest: Annotated[
        Share | None,
        Meta(
            description="Share of the rows whose strongest stratum is its own; null for an anchor."
        ),
    ]

    @property
    def constant(self) -> bool:
        """Whether it saw one class only."""
        return len(self.classes) == 1


class StrataFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of strata."""

    stratifier: Annotated[str, Meta(description="Class of what found the strata.")]
    fusion: Annotated[str, Meta(description="Class of what joins the members.")]
    n_strata: Annotated[int, Meta(ge=1, description="Number of strata.")]
    stratum_size: Annotated[
        Share | None, Meta(description="Share of the rows in each stratum, where that is set.")
    ]
    rows: Annotated[Literal["training", "given"], Meta(description="Which rows closest counts.")]
    members: Annotated[list[MemberFacts], Meta(description="Stratum by stratum, anchors last.")]


class MemberVoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one member says of a row."""

    member: Name
    membership: Annotated[
        float | None, Meta(description="The row's membership in its stratum; null for an anchor.")
    ]
    outputs: Annotated[list[float], Meta(description="What it says of each class.")]
    weight: Annotated[
        float | None, Meta(description="Its share in this decision; null where there is none.")
    ]


class RowFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row's way through a model of strata."""

    row: Annotated[Count, Meta(description="The row, from 0.")]
    prediction: Annotated[str, Meta(description="Its predicted class.")]
    classes: Annotated[list[str], Meta(description="The model's classes.")]
    scores: Annotated[list[float], Meta(description="The fused score of each class.")]
    members: list[MemberVoice]


def strata_facts(model: Any, X: Any = None) -> StrataFacts:
    """Describe each member; ``closest`` counts the rows given, those of the training without."""
    ensemble: StrataEnsembleClassifier = final_step(model)
    stratifier = final_step(ensemble.stratifier_)
    shares = _closest_shares(ensemble, rows_at_final_step(model, X))
    fitted = [*ensemble.estimators_, *ensemble.anchors_]
    members = [
        MemberFacts(
            member=_member_name(stratifier, facts["stratum"]),
            estimator=type(final_step(member)).__name__,
            n_rows=facts["n_rows"],
            classes=[str(label) for label in facts["classes"]],
            weight=facts["weight"],
            score=facts["score"],
            closest=_of_stratum(shares, facts["stratum"]),
        )
        for facts, member in zip(ensemble.member_report_, fitted, strict=True)
    ]
    size = ensemble.stratum_size_
    return StrataFacts(
        stratifier=type(stratifier).__name__,
        fusion=type(ensemble.fusion_).__name__,
        n_strata=int(ensemble.n_strata_),
        stratum_size=None if size is None else float(size),
        rows="training" if X is None else "given",
        members=members,
    )


def row_facts(model: Any, X: Any, row: int) -> RowFacts:
    """Tell which strata and members decided about one row."""
    if X is None:
        raise ValueError(f"`row` = {row} is a row of the data: give `X`.")
    if not 0 <= row < len(X):
        raise ValueError(f"There is no row {row}: the data have rows 0 to {len(X) - 1}.")
    ensemble: StrataEnsembleClassifier = final_step(model)
    story = ensemble.explain_row(rows_at_final_step(model, X[row : row + 1]))
    weights = story["weights"]
    members = [
        MemberVoice(
            member=_member_name(final_step(ensemble.stratifier_), facts["stratum"]),
            membership=_of_stratum(story["strata"], facts["stratum"]),
            outputs=[float(each) for each in outputs],
            weight=None if weights is None else float(weights[i]),
        )
        for i, (facts, outputs) in enumerate(
            zip(ensemble.member_report_, story["members"], strict=True)
        )
    ]
    return RowFacts(
        row=row,
        prediction=str(story["prediction"]),
        classes=[str(label) for label in ensemble.classes_],
        scores=[float(each) for each in story["scores"]],
        members=members,
    )


def _closest_shares(ensemble: StrataEnsembleClassifier, rows: Any) -> NDArray[np.float64]:
    """Share of the rows whose strongest stratum is each; equals share a row evenly."""
    stratifier = ensemble.stratifier_
    found = final_step(stratifier).memberships_ if rows is None else stratifier.transform(rows)
    memberships = np.asarray(found, dtype=float)
    best = memberships.max(axis=1, keepdims=True)
    leading = (memberships >= best - 1e-9) & (best > 0)
    shares = leading / np.maximum(leading.sum(axis=1, keepdims=True), 1)
    return np.asarray(shares.mean(axis=0))


def _of_stratum(values: NDArray[np.float64], stratum: int | None) -> float | None:
    return None if stratum is None else float(values[stratum])


def _member_name(stratifier: Any, stratum: int | None) -> str:
    if stratum is None:
        return "anchor"
    sources = getattr(stratifier, "sources_", None)
    return str(stratum) if sources is None else str(sources[stratum])
