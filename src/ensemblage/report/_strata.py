"""Strata ensembles described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ensemblage._core import (
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count,
    count_field,
    final_step,
    number_field,
    plain_name,
    rows_at_final_step,
    share_field,
    write_number,
)
from ensemblage.fusion import Stacking
from ensemblage.report._blocks import (
    Bar,
    BarsBlock,
    Block,
    Card,
    CardsBlock,
    MapBlock,
    MapPanel,
    Outline,
    Section,
    TextBlock,
)
from ensemblage.report._contributions import (
    NUMBER,
    Decision,
    LinearPart,
    RowDecision,
    add_up,
    by_column,
    contributions_of,
    decision_bars,
    decision_table,
    leading,
    predicted,
    scores_text,
    value_text,
    weighted_numbers,
    weighted_odds,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelPage,
    Subject,
    feature_origins,
    saved_picture,
    spread,
)
from ensemblage.report._linear import linear_numbers, linear_part
from ensemblage.strata import (
    ColumnDifference,
    StrataDescription,
    StrataDisplay,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    StratumDescription,
    describe_strata,
)

MOST_REASONS = 3


def reasons(
    described: StrataDescription | None, stratum: int | None, fields: Mapping[str, Any]
) -> list[str]:
    """Tell in which of a stratum's columns a row's fields are nearer to it than to all rows."""
    if described is None or stratum is None:
        return []
    found = [
        (_nearer(each, fields[each.column]), each)
        for each in described.strata[stratum].differences
        if each.column in fields
    ]
    told = sorted((pair for pair in found if pair[0] > 0), key=lambda pair: -pair[0])
    return [_like(each, fields[each.column]) for _, each in told[:MOST_REASONS]]


def _nearer(difference: ColumnDifference, value: Any) -> float:
    """Measure how much nearer a value is to the stratum's than to all rows', in its distance."""
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    if difference.kind == "missing":
        return difference.distance if missing else -difference.distance
    if missing:
        return 0.0
    if difference.kind == "categorical":
        same = value_text(value) == difference.category
        return difference.distance if same else -difference.distance
    gap = abs(difference.stratum - difference.all_rows)
    closer = abs(float(value) - difference.all_rows) - abs(float(value) - difference.stratum)
    return abs(difference.distance) * closer / gap if gap > 0 else 0.0


def _like(difference: ColumnDifference, value: Any) -> str:
    """Write a reason: the row's value beside the stratum's and that of all rows."""
    told = value_text(value, difference.kind)
    if difference.kind in {"categorical", "missing"}:
        return (
            f"{difference.column} {told}" if told == "missing" else f"{difference.column} = {told}"
        )
    stratum, everywhere = map(difference.written, (difference.stratum, difference.all_rows))
    return f"{difference.column} {told} (stratum {stratum}, all rows {everywhere})"


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
        labels=getattr(final_step(ensemble.stratifier_), "stratum_names_", None),
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
    if isinstance(ensemble.fusion_, Stacking):
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
    sources = getattr(stratifier, "stratum_names_", None)
    return str(stratum) if sources is None else str(sources[stratum])


UNDESCRIBED = "What the strata are needs rows to tell: name a file after the model."


def strata_section(facts: StrataFacts) -> list[Block]:
    """Tell what the strata are, for a page."""
    described = facts.described
    if described is None:
        return [TextBlock([UNDESCRIBED])]
    cards = [_card(each, described.written_error(each.error)) for each in described.strata]
    return [CardsBlock(cards, _caption(described))]


def strata_names(facts: StrataFacts) -> list[str]:
    """Name the strata by number and, where they are described, in words; anchors are none."""
    return [_title(each) for each in facts.members if each.closest is not None]


def _title(member: MemberFacts) -> str:
    name = member.name
    return f"stratum {member.member}" if name in {None, member.member} else (
        f"{member.member}: {name}"
    )  # fmt: skip


def _card(stratum: StratumDescription, error: str) -> Card:
    text = f"{stratum.share:.1%} of the rows"
    if stratum.error is not None:
        text += f", error {error}"
    lines = [_line(each) for each in stratum.differences]
    return Card(f"{stratum.stratum}: {stratum.name}", text, lines)


def _line(difference: ColumnDifference) -> tuple[str, str]:
    what = {"categorical": f" = {difference.category}", "missing": " missing"}.get(
        difference.kind, ""
    )
    own, everywhere = map(difference.written, (difference.stratum, difference.all_rows))
    return f"{difference.column}{what}", f"{own} (all rows {everywhere})"


def _caption(described: StrataDescription) -> str:
    said = (
        "For each stratum its share of the rows, of which one may be in several, and the columns "
        "in which it differs most from all rows: its median or share beside that of all."
    )
    return said if described.error is None else f"{said} {described.error_sentence}"


# What would be printed as 0.0 % is no part.
SMALLEST_PART = 0.0005
MOST_VOICES = 8
MOST_REASONED = 3
"""So many strata are told with the reasons for which the row is in them."""
UNMOVED = (
    "Which columns moved the decision cannot be told exactly: members or fusion are not linear."
)
WEIGHT = "the member's share in this decision; then what it says of each class"
SHARE = "the member's share in this decision; then its number, and how far that may be off"


def strata_summary(facts: StrataFacts) -> list[str]:
    """Say what was found, and which members are constant."""
    told = [f"{_made_of(facts)}."]
    constant = sum(each.constant for each in facts.members)
    value = "class" if any(each.classes for each in facts.members) else "value"
    if constant == 1:
        told.append(f"1 stratum holds rows of one {value} only, and its member is constant.")
    elif constant:
        told.append(
            f"{constant} strata hold rows of one {value} only, and their members are constant."
        )
    return told


def members_text(facts: StrataFacts) -> list[str | TableBlock]:
    """List the members for a terminal, with a legend of the columns that are there."""
    table = _members(facts, most_classes=4)
    legend = {
        "weight": "share in the fusion",
        "accuracy": "on rows of the stratum that the member had not seen",
        "R²": "on rows of the stratum that the member had not seen, and its spread there",
        "closest": f"share of the {facts.rows} rows whose strongest stratum it is",
    }
    names = {column.name for column in table.columns}
    told: list[str | TableBlock] = [
        _made_of(facts),
        table,
        "; ".join(f"{name}: {text}" for name, text in legend.items() if name in names),
    ]
    if facts.described is None:
        return [*told, UNDESCRIBED]
    return ["What the strata are", facts.described.block, facts.described.legend, "", *told]


def members_table(facts: StrataFacts) -> TableBlock:
    """List the members for a page."""
    table = _members(facts, most_classes=6)
    names = {column.name for column in table.columns}
    score = "R², and the root of the mean squared error" if "R²" in names else "Accuracy"
    legend = (
        f"Rows: what the member learned from. {score}: on rows of the stratum that the member had "
        f"not seen. Closest: share of the {facts.rows} rows whose strongest stratum it is."
    )
    if "weight" in names:
        legend += " Weight: share in the fusion."
    return TableBlock(table.columns, table.rows, "The members of the ensemble", legend)


def _members(facts: StrataFacts, most_classes: int) -> TableBlock:
    members = facts.members
    score = "accuracy" if any(each.classes for each in members) else "R²"
    columns = {
        Heading("stratum"): [Field(_named(each.member, each.name)) for each in members],
        Heading("member"): [
            Field("constant" if each.constant else plain_name(each.estimator)) for each in members
        ],
        Heading("rows", numeric=True): [count_field(each.n_rows) for each in members],
        Heading("classes"): [Field(_classes(each.classes, most_classes)) for each in members],
        Heading("weight", numeric=True): [share_field(each.weight) for each in members],
        Heading(score, numeric=True): [number_field(each.score, 3) for each in members],
        Heading("spread", numeric=True): [_number(each.spread) for each in members],
        Heading("closest", numeric=True): [share_field(each.closest) for each in members],
    }
    # a gate has no weights but per row, and an in-sample fusion no held-out score
    shown = {
        column: fields
        for column, fields in columns.items()
        if set(fields) != {NOTHING} and not (_may_go(column) and len(set(fields)) == 1)
    }
    return TableBlock(list(shown), list(zip(*shown.values(), strict=True)), "")


def _may_go(column: Heading) -> bool:
    """Whether a column tells nothing where all its fields are alike."""
    return column.name in {"member", "classes"}


def _made_of(facts: StrataFacts) -> str:
    """Say what the ensemble is; also what all members are, as their table then does not."""
    size = "" if facts.stratum_size is None else f", each {facts.stratum_size:.0%} of the rows"
    kinds = {"" if each.constant else each.estimator for each in facts.members}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    alike = f"; on each of them: {plain_name(kind)}" if kind else ""
    fusion = plain_name(facts.fusion)
    return f"{facts.n_strata} strata by {facts.stratifier}{size}{alike}; fused by {fusion}"


def closest_bars(facts: StrataFacts) -> BarsBlock:
    """Count how many rows each stratum is the strongest of."""
    shares = [each.closest for each in facts.members if each.closest is not None]
    bars = [
        Bar(name, share, f"{share:.1%}", strong=True)
        for name, share in zip(strata_names(facts), shares, strict=True)
    ]
    caption = f"Share of the {facts.rows} rows whose strongest stratum is the member's."
    return BarsBlock(bars, caption, percent=True, from_zero=True)


def voices_text(story: RowFacts) -> list[str | TableBlock]:
    """Tell one row's way for a terminal; the last line of the table is the fused answer."""
    table, left_out = _voices(story)
    fused = [Field("fused"), Field(""), Field(""), *_outputs(story, story.scores)]
    if story.spread is not None:
        fused[3:] = [Field(story.prediction), _number(story.spread)]
    said: list[str | TableBlock] = [
        predicted(story),
        TableBlock(table.columns, [*table.rows, fused], ""),
        f"weight: {WEIGHT if story.classes else SHARE}",
    ]
    if left_out:
        said.append(left_out)
    return [*said, *_why(story), *_moved(story)]


def _why(story: RowFacts) -> list[str]:
    """Say why the row is where it is, for the strata that it is closest to."""
    near = [each for each in _by_weight(story) if each.why and (each.membership or 0) >= 0.5]
    return [f"In {each.name}: {'; '.join(each.why)}" for each in near[:MOST_REASONED]]


def _moved(story: RowFacts) -> list[str | TableBlock]:
    if story.decision is None:
        return [UNMOVED]
    table = decision_table(story.decision)
    return [table, table.legend]


def voices_blocks(story: RowFacts) -> list[Block]:
    """Tell one row's way for a page."""
    table, left_out = _voices(story)
    legend = f"Weight: {WEIGHT if story.classes else SHARE}. {left_out}".rstrip()
    said = f"All members together say {scores_text(story)}."
    if story.spread is not None:
        said = f"Its standard deviation: {write_number(story.spread)}."
    return [
        TextBlock([f"Predicted: {story.prediction}. {said}"]),
        TableBlock(table.columns, table.rows, f"Who decided about row {story.row}", legend),
        *([TextBlock([f"{line}." for line in _why(story)])] if _why(story) else []),
        TextBlock([UNMOVED]) if story.decision is None else decision_bars(story.decision),
    ]


def _voices(story: RowFacts) -> tuple[TableBlock, str]:
    """List who had the largest parts in a decision, and say who is left out."""
    columns = [
        Heading("stratum"),
        Heading("membership", numeric=True),
        Heading("weight", numeric=True),
        *(Heading(name, numeric=True) for name in _heads(story)),
    ]
    members = _by_weight(story)
    shown = [each for each in members if _has_part(each)][:MOST_VOICES]
    rows = [
        [
            Field(_named(each.member, each.name)),
            number_field(each.membership, 3),
            share_field(each.weight),
            *_outputs(story, each.outputs),
        ]
        for each in shown
    ]
    n_others = len(members) - len(shown)
    if n_others == 0:
        return TableBlock(columns, rows, ""), ""
    weight = sum(each.weight or 0 for each in members) - sum(each.weight or 0 for each in shown)
    part = f"with {weight:.1%} of the weight" if weight >= SMALLEST_PART else "without a part in it"
    return TableBlock(columns, rows, ""), f"Left out: {count(n_others, 'member')} {part}."


def _heads(story: RowFacts) -> list[str]:
    """Name what a member says: the classes to show, or a number and its spread."""
    if not story.classes:
        return ["number", "spread"]
    return [story.classes[k] for k in leading(story.scores)]


def _outputs(story: RowFacts, outputs: Sequence[float]) -> list[Field]:
    """Write what a member says under these names."""
    if not story.classes:
        return [_number(each, 6) for each in outputs]
    return [number_field(outputs[k], 3) for k in leading(story.scores)]


def _number(value: float | None, digits: int = 4) -> Field:
    return NOTHING if value is None else Field(write_number(value, digits), value)


def _by_weight(story: RowFacts) -> list[MemberVoice]:
    """Put first who weighs most, or else is closest."""
    return sorted(story.members, key=lambda each: (-(each.weight or 0), -(each.membership or 0)))


def _named(member: str, name: str | None) -> str:
    return member if name in {None, member} else f"{member} {name}"


def _has_part(voice: MemberVoice) -> bool:
    weight, membership = voice.weight, voice.membership or 0
    return weight is None or weight >= SMALLEST_PART or membership >= SMALLEST_PART


def _classes(labels: Sequence[str], most: int) -> str:
    only = " only" if len(labels) == 1 else ""
    return f"{', '.join(labels)}{only}" if len(labels) <= most else f"{len(labels)} classes"


MOST_PANELS = 6
MOST_MAP_ROWS = 20_000
MOST_DRAWN = 250
"""Rows that stand out in a picture; more cover each other."""
WITHIN = 0.5
"""Membership from which a row is one of the stratum's."""
N_STD = 1.5


def strata_map(
    subject: Subject, names: Sequence[str], shares: Sequence[float] | None = None
) -> Block:
    """Map the strata that matter with the rows given, or say why there is no map.

    ``shares`` are the strata's in the decision about the row that is explained.
    """
    kept = _kept_rows(len(subject.X), subject.row)
    try:
        display = StrataDisplay.of_model(subject.model, subject.X[kept])
    except ValueError as error:
        return TextBlock([str(error)])
    mark = None if subject.row is None else int(np.searchsorted(kept, subject.row))
    own = None if mark is None else display.memberships[mark] + 2 * np.asarray(shares or 0.0)
    chosen = _that_matter(display, own)
    panels = [_panel(display, stratum, names[stratum], mark) for stratum in chosen]
    of_classes = subject.y is not None and not is_regressor(final_step(subject.model))
    groups = [str(label) for label in np.asarray(subject.y)[kept]] if of_classes else []
    n_strata = len(display.sizes)
    which = "each stratum" if len(panels) == n_strata else _which(len(panels), n_strata, mark)
    signs = "their class" if of_classes else "their stratum"
    across, up = display.axis_names
    return MapBlock(
        points=[(float(x), float(y)) for x, y in display.points],
        groups=groups,
        panels=panels,
        alt=f"{count(len(panels), 'map')} of {len(display.points):,} rows, a stratum in each: "
        f"{'; '.join(f'{panel.title}, {panel.text}' for panel in panels)}.",
        caption=f"The rows of {which} among all rows, with a sign for {signs}. An ellipse spans "
        "one and a half standard deviations; strata that overlap here may lie apart in other "
        f"dimensions. Across: {across}; upwards: {up}.",
        mark=mark,
        mark_name="" if subject.row is None else f"row {subject.row}",
    )


def _kept_rows(n_rows: int, row: int | None) -> NDArray[np.intp]:
    """Take every so-manieth row, and the one that is explained."""
    step = -(-n_rows // MOST_MAP_ROWS)
    kept = np.arange(0, n_rows, step)
    return kept if row is None else np.union1d(kept, row)


def _that_matter(display: Any, own: NDArray[np.float64] | None) -> list[int]:
    """Choose all strata if they are few; else the row's own, then those closest to most rows."""
    n_strata = len(display.sizes)
    closest = np.bincount(display.strongest[display.strongest >= 0], minlength=n_strata)
    order = sorted(range(n_strata), key=lambda stratum: -closest[stratum])
    if own is None:
        return sorted(order[:MOST_PANELS])
    order.sort(key=lambda stratum: -own[stratum] if own[stratum] >= WITHIN else 0.0)
    return order[:MOST_PANELS]


def _which(shown: int, n_strata: int, mark: int | None) -> str:
    first = "those closest to most rows" if mark is None else "the row's own first"
    return f"{shown} of the {n_strata} strata, {first},"


def _panel(display: Any, stratum: int, name: str, mark: int | None) -> MapPanel:
    memberships = display.memberships[:, stratum]
    rows = np.flatnonzero(memberships >= WITHIN)
    step = max(1, -(-len(rows) // MOST_DRAWN))
    variances, directions = np.linalg.eigh(display.covariances[stratum])
    axes = N_STD * np.sqrt(np.maximum(variances, 0)) * directions
    own = mark is not None and bool(memberships[mark] >= WITHIN)
    centre, first, second = (
        (float(a), float(b)) for a, b in (display.centres[stratum], axes[:, 0], axes[:, 1])
    )
    return MapPanel(
        title=name,
        text=count(len(rows), "row"),
        rows=rows[::step].tolist(),
        outline=Outline(centre, first, second) if len(rows) else None,
        own=own,
    )


NO_ROWS = "A map needs rows to show: name a file after the model."


@dataclass(frozen=True)
class StrataExplanation(Explanation):
    """The members of a strata ensemble, and a row's way through them if one was named."""

    has = "strata"
    documents = (StrataFacts, RowFacts)
    draws_rows = True

    facts: StrataFacts
    story: RowFacts | None = None
    subject: Subject | None = None
    """With rows to map; None without."""

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise the ensemble by its class."""
        return isinstance(estimator, StrataEnsembleClassifier | StrataEnsembleRegressor)

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell the sizes of the strata, how they overlap, and what was fitted on them."""
        del columns
        memberships = final_step(estimator.stratifier_).memberships_
        sizes = estimator.member_sizes_
        kinds = Counter(type(final_step(each)).__name__ for each in estimator.estimators_)
        # A stratum of one value has a constant member; the others are what was asked for.
        member = max(kinds, key=lambda kind: (not kind.startswith("Dummy"), kinds[kind]))
        yield f"{len(sizes)} strata of {spread(sizes)} of the {len(memberships)} rows"
        often = (memberships > 0.5).sum(axis=1)
        yield _overlap(often)
        fusion = plain_name(type(estimator.fusion_).__name__)
        yield f"one {plain_name(member)} per stratum, fused by {fusion}"
        n_constant = len(estimator.constant_strata_)
        if n_constant:
            value = "class" if hasattr(estimator, "classes_") else "value"
            yield f"{n_constant} of {estimator.n_strata_} strata hold one {value} only"

    @classmethod
    def of(cls, subject: Subject) -> StrataExplanation:
        """Describe the members, and the row that is asked for."""
        story = None if subject.row is None else row_facts(subject, subject.row)
        return cls(strata_facts(subject), story, None if subject.X is None else subject)

    @property
    def document(self) -> StrataFacts | RowFacts:
        """The row's way if there is one, else the members."""
        return self.facts if self.story is None else self.story

    def text(self) -> list[str | TableBlock]:
        """List the members, or who decided about the row."""
        return members_text(self.facts) if self.story is None else voices_text(self.story)

    def page(self) -> ModelPage:
        """Show the row, the map, the members."""
        facts, story, subject = self.facts, self.story, self.subject
        names = strata_names(facts)
        shares = None if story is None else [
            each.weight or 0.0 for each in story.members if each.membership is not None
        ]  # fmt: skip
        sections = [
            Section("What the strata are", strata_section(facts)),
            Section(
                "Map",
                [TextBlock([NO_ROWS]) if subject is None else strata_map(subject, names, shares)],
            ),
            Section("Members", [closest_bars(facts), members_table(facts)]),
        ]
        if story is not None:
            sections.insert(0, Section(f"Row {story.row}", voices_blocks(story)))
        known = [
            ("strata", str(facts.n_strata)),
            ("members", str(len(facts.members))),
            ("stratifier", facts.stratifier),
            ("fusion", plain_name(facts.fusion)),
        ]
        return ModelPage(strata_summary(facts), known, sections)

    def draw(self, picture: str = "png") -> bytes:
        """Draw the map; needs rows."""
        subject = self.subject
        if subject is None:
            raise ValueError("A map of strata needs rows to show: give `X`.")
        classes = subject.y if hasattr(final_step(subject.model), "classes_") else None
        display = StrataDisplay.of_model(subject.model, subject.X, classes)
        return saved_picture(display.plot(mark=subject.row), picture)


def _overlap(often: NDArray[np.int64]) -> str:
    """Say in how many strata rows are, and how many are in none."""
    if often.min() == often.max() == 1:
        return "every row is in one stratum"
    alone = int((often == 0).sum())
    are = "is" if alone == 1 else "are"
    outside = f"; {count(alone, 'row')} {are} in none" if alone else ""
    return f"a row is in {spread(often)} strata{outside}"
