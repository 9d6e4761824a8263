"""What a strata model is made of, and how it decided about one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage.explain._decision import (
    NUMBER,
    Decision,
    LinearPart,
    RowDecision,
    add_up,
    by_column,
    contributions_of,
    weighted_numbers,
    weighted_odds,
)
from ensemblage.explain._explanation import Subject
from ensemblage.explain._feature_origins import feature_origins
from ensemblage.explain._linear_members import linear_numbers, linear_part
from ensemblage.explain._row_reasons import reasons
from ensemblage.fusion import DensityStacking, Stacking
from ensemblage.messages import write_number
from ensemblage.parallel import final_step, rows_at_final_step
from ensemblage.strata import (
    StrataDescription,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    describe_strata,
)

Ensemble: TypeAlias = StrataEnsembleClassifier | StrataEnsembleRegressor

FEWEST_ROWS = 10
"""Fewer rows do not tell what a stratum is."""

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
StratumName = Annotated[
    str | None, Meta(description="Its stratum in words; null for an anchor, or without rows.")
]
Name = Annotated[str, Meta(description="Its stratum: a number, the name of a source, or anchor.")]


class MemberFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of a strata model."""

    member: Name
    name: StratumName
    estimator: Annotated[str, Meta(description="Its class; of a pipeline, the last step's.")]
    n_rows: Annotated[Count, Meta(description="Rows that it learned from.")]
    classes: Annotated[list[str], Meta(description="Classes among them; none for numbers.")]
    weight: Annotated[
        float | None, Meta(description="Its share in the fusion; null where there is none.")
    ]
    score: Annotated[
        Annotated[float, Meta(le=1)] | None,
        Meta(
            description="Accuracy, or R² of numbers, on rows of its stratum that it had not seen."
        ),
    ]
    closest: Annotated[
        Share | None,
        Meta(
            description="Share of the rows whose strongest stratum is its own; null for an anchor."
        ),
    ]
    constant: Annotated[bool, Meta(description="Whether it always says the same.")] = False
    spread: Annotated[
        float | None, Meta(description="Of numbers, the root of its mean squared error there.")
    ] = None


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
    described: Annotated[
        StrataDescription | None,
        Meta(description="What the strata are; null where neither fit nor file tells."),
    ] = None


class MemberVoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one member says of a row."""

    member: Name
    name: StratumName
    why: Annotated[
        list[str], Meta(description="Columns in which the row is like its stratum, the most first.")
    ]
    membership: Annotated[
        float | None, Meta(description="The row's membership in its stratum; null for an anchor.")
    ]
    outputs: Annotated[
        list[float],
        Meta(description="What it says of each class, or its number and how far that may be off."),
    ]
    weight: Annotated[
        float | None, Meta(description="Its share in this decision; null where there is none.")
    ]


class RowFacts(RowDecision, frozen=True, forbid_unknown_fields=True):
    """One row's way through a model of strata."""

    members: list[MemberVoice]
    spread: Annotated[
        float | None, Meta(description="Of a number, the standard deviation of what is predicted.")
    ] = None


def describe_training(subject: Subject) -> StrataDescription | None:
    """Tell what a model's strata are on its training rows; None if it has none."""
    if not isinstance(final_step(subject.model), Ensemble):
        return None
    told = describe_subject(subject)
    in_sample = told is not None and told.error_rows == "given"
    return replace(told, error_rows="training") if told is not None and in_sample else told


def describe_subject(subject: Subject) -> StrataDescription | None:
    """Tell what the strata are: as noted after the fit, or else by the rows given."""
    noted = subject.details.get("strata")
    if noted is not None:
        return msgspec.convert(noted, StrataDescription)
    if subject.X is None or len(subject.X) < FEWEST_ROWS:
        return None
    ensemble: Ensemble = final_step(subject.model)
    rows = rows_at_final_step(subject.model, subject.X)
    of_classes = hasattr(ensemble, "classes_")
    told = describe_strata(
        subject.X, ensemble.stratifier_.transform(rows), names=subject.columns,
        kinds=subject.kinds or None,
        labels=getattr(final_step(ensemble.stratifier_), "sources_", None),
        wrong=None if subject.y is None or not of_classes
        else subject.model.predict(subject.X) != subject.y,
    )  # fmt: skip
    held_out = ensemble.stratum_errors_, ensemble.held_out_error_
    return told.with_errors(*held_out, "held out", of_classes=of_classes)


def strata_facts(subject: Subject) -> StrataFacts:
    """Describe each member; ``closest`` counts the rows given, those of the training without."""
    ensemble: Ensemble = final_step(subject.model)
    stratifier = final_step(ensemble.stratifier_)
    shares = _closest_shares(ensemble, rows_at_final_step(subject.model, subject.X))
    fitted = [*ensemble.estimators_, *ensemble.anchors_]
    described = describe_subject(subject)
    members = [
        MemberFacts(
            member=_member_name(stratifier, facts["stratum"]),
            name=_stratum_name(described, facts["stratum"]),
            estimator=type(final_step(member)).__name__,
            n_rows=facts["n_rows"],
            classes=[str(label) for label in facts.get("classes", ())],
            weight=facts["weight"],
            score=facts["score"],
            closest=_of_stratum(shares, facts["stratum"]),
            constant=facts["constant"],
            spread=facts.get("spread"),
        )
        for facts, member in zip(ensemble.member_report_, fitted, strict=True)
    ]
    size = ensemble.stratum_size_
    return StrataFacts(
        stratifier=type(stratifier).__name__,
        fusion=type(ensemble.fusion_).__name__,
        n_strata=int(ensemble.n_strata_),
        stratum_size=None if size is None else float(size),
        rows="training" if subject.X is None else "given",
        members=members,
        described=described,
    )


def row_facts(subject: Subject, row: int) -> RowFacts:
    """Tell which strata and members decided about one row, and which columns moved them."""
    ensemble: Ensemble = final_step(subject.model)
    described = describe_subject(subject)
    encoded = rows_at_final_step(subject.model, subject.X[row : row + 1])
    story = ensemble.explain_row(encoded)
    fields = dict(zip(subject.columns, subject.values(row), strict=True))
    weights, classes = story["weights"], [str(each) for each in getattr(ensemble, "classes_", ())]
    members = [
        MemberVoice(
            member=_member_name(final_step(ensemble.stratifier_), facts["stratum"]),
            name=_stratum_name(described, facts["stratum"]),
            why=reasons(described, facts["stratum"], fields),
            membership=_of_stratum(story["strata"], facts["stratum"]),
            outputs=_said(outputs, facts.get("spread"), classes),
            weight=None if weights is None else float(weights[i]),
        )
        for i, (facts, outputs) in enumerate(
            zip(ensemble.member_report_, story["members"], strict=True)
        )
    ]
    return RowFacts(
        row=row,
        prediction=str(story["prediction"]) if classes else write_number(story["prediction"], 6),
        classes=classes,
        scores=[float(each) for each in story["scores"]] if classes else [],
        decision=None if weights is None else _decision(subject, row, encoded, weights),
        members=members,
        spread=None if classes else _said(story["scores"], None, classes)[1],
    )


def _said(outputs: Any, spread: float | None, classes: Sequence[str]) -> list[float]:
    """Give a score for each class, or a number and how far it may be off."""
    said = [float(each) for each in outputs]
    return said if classes else [said[0], float(np.sqrt(said[1])) if spread is None else spread]


def _decision(subject: Subject, row: int, encoded: Any, weights: Any) -> Decision | None:
    """Add up the linear members' coefficients, each with its share in this decision."""
    ensemble: Ensemble = final_step(subject.model)
    origins = feature_origins(subject.model, subject.columns)
    means = ensemble.feature_means_
    if origins is None or means is None:
        return None
    if isinstance(ensemble.fusion_, Stacking | DensityStacking):
        return None
    members = [*ensemble.estimators_, *ensemble.anchors_]
    parts = [(_linear(each, ensemble), w) for each, w in zip(members, weights, strict=True)]
    linear = [(part, w) for part, w in parts if part is not None]
    if not linear:
        return None
    shares = np.array([w for _, w in linear])
    spoken = _spoken(ensemble, encoded)
    coef, level = add_up([part for part, _ in linear], shares, spoken.label)
    amounts = by_column(coef * (np.asarray(encoded)[0] - means), origins, len(subject.columns))
    base = level + float(coef @ means)
    return Decision(
        label=spoken.name,
        measure=spoken.measure,
        base=base,
        contributions=contributions_of(
            subject.columns, subject.values(row), amounts, subject.kinds
        ),
        value=base + float(amounts.sum()),
        share=float(min(shares.sum(), 1.0)),
    )


class _Spoken(NamedTuple):
    """What a decision speaks for: a class by its position, or a number."""

    label: int | None
    name: str
    measure: str


def _spoken(ensemble: Ensemble, encoded: Any) -> _Spoken:
    members, fusion = "linear members", ensemble.fusion_
    if isinstance(ensemble, StrataEnsembleRegressor):
        return _Spoken(None, NUMBER, weighted_numbers(members, fusion))
    label = int(np.flatnonzero(ensemble.classes_ == ensemble.predict(encoded)[0])[0])
    measure = weighted_odds(members, len(ensemble.classes_), fusion)
    return _Spoken(label, str(ensemble.classes_[label]), measure)


def _linear(member: Any, ensemble: Ensemble) -> LinearPart | None:
    """Give a member's coefficients for the ensemble's classes, or for its number."""
    if isinstance(ensemble, StrataEnsembleRegressor):
        return linear_numbers(member)
    return linear_part(member, np.arange(len(ensemble.classes_)))


def _stratum_name(described: StrataDescription | None, stratum: int | None) -> str | None:
    return None if described is None or stratum is None else described.strata[stratum].name


def _closest_shares(ensemble: Ensemble, rows: Any) -> NDArray[np.float64]:
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
