"""Strata ensembles described: strata, members, a row's members and reasons, the map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import fill
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

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
    safe_indexing,
    share_field,
    write_number,
)
from ensemblage.fusion import Stacking
from ensemblage.report._blocks import Bar, BarsBlock, Block, FigureBlock, Section
from ensemblage.report._contributions import (
    TARGET,
    Decision,
    MemberPrediction,
    RowExplanation,
    Share,
    by_column,
    contribution_bars,
    likely_classes,
    prediction_text,
    value_text,
    weighted_measure,
    weighted_sum,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelContext,
    feature_origins,
    range_text,
)
from ensemblage.report._linear import linear_part
from ensemblage.strata import (
    ColumnDifference,
    StrataDescription,
    StrataDisplay,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    describe_strata,
)

MIN_ROWS = 10
"""Rows that are needed to describe strata."""
MAX_REASONS = 3
"""Reasons that are listed for a stratum, and strata that are listed with reasons."""
MIN_SHARE = 0.0005
"""Less is printed as 0.0 %, and not listed."""
MAX_MEMBERS = 8
"""Members that are listed for a row."""
MAX_CLASSES = 4
"""Classes of a member that are listed."""
MAX_OUTLINES = 6
"""Strata that are outlined on the map."""
MAX_MAP_ROWS = 20_000
MAX_LEGEND = 44
"""Characters of a line of the map's legend."""
WITHIN = 0.5
"""Membership from which a row is in a stratum."""
NOT_DESCRIBED = "A description of the strata needs rows: give a data file."
NOT_LINEAR = "Exact contributions of columns are not available: members or fusion are not linear."
NO_ROWS = "A map needs rows: give a data file."

Ensemble: TypeAlias = StrataEnsembleClassifier | StrataEnsembleRegressor


class StrataMemberDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of a strata ensemble."""

    member: Annotated[
        str, Meta(description="Its stratum: a number, the name of a source, or anchor.")
    ]
    name: Annotated[
        str | None,
        Meta(description="Description of its stratum; null for an anchor, or without rows."),
    ]
    estimator: Annotated[str, Meta(description="Its class; of a pipeline, the last step's.")]
    n_rows: Annotated[int, Meta(ge=0, description="Rows that it was fitted on.")]
    classes: Annotated[list[str], Meta(description="Classes among them; none for regression.")]
    weight: Annotated[
        float | None, Meta(description="Its weight in the fusion; null where there is none.")
    ]
    score: Annotated[
        Annotated[float, Meta(le=1)] | None,
        Meta(description="Out-of-fold accuracy, or R² of a regression, on rows of its stratum."),
    ]
    dominant_in: Annotated[
        Share | None,
        Meta(
            description="Share of the rows with their highest membership in it; null for an anchor."
        ),
    ]
    constant: Annotated[bool, Meta(description="Whether it always predicts the same.")] = False
    rmse: Annotated[
        float | None, Meta(description="Out-of-fold, of a regression, on rows of its stratum.")
    ] = None


class StrataDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A strata ensemble."""

    stratifier: Annotated[str, Meta(description="Class of the stratifier.")]
    fusion: Annotated[str, Meta(description="Class of the fusion.")]
    n_strata: Annotated[int, Meta(ge=1, description="Number of strata.")]
    stratum_size: Annotated[
        Share | None, Meta(description="Share of the rows in each stratum, where that is set.")
    ]
    rows: Annotated[
        Literal["training", "given"], Meta(description="Which rows dominant_in counts.")
    ]
    members: Annotated[
        list[StrataMemberDocument], Meta(description="Stratum by stratum, anchors last.")
    ]
    strata: Annotated[
        StrataDescription | None,
        Meta(
            description="Description of the strata; null where the model file has none and no "
            "rows are given."
        ),
    ] = None


DOCUMENTS = (StrataDocument,)


def matches(estimator: Any) -> bool:
    """Recognise the ensemble by its class."""
    return isinstance(estimator, Ensemble)


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Sizes of the strata, how they overlap, and what was fitted on them."""
    del columns
    memberships = final_step(estimator.stratifier_).memberships_
    sizes = estimator.member_sizes_
    kinds = Counter(type(final_step(each)).__name__ for each in estimator.estimators_)
    # A stratum of one class or value has a constant member, which is not the one requested.
    member = max(kinds, key=lambda kind: (not kind.startswith("Dummy"), kinds[kind]))
    yield f"{len(sizes)} strata with {range_text(sizes)} of {len(memberships)} rows each"
    n_strata = (memberships > WITHIN).sum(axis=1)
    if n_strata.min() == n_strata.max() == 1:
        yield "every row is in one stratum"
    else:
        n_none = int((n_strata == 0).sum())
        none = f"; {count(n_none, 'row')} {'is' if n_none == 1 else 'are'} in none"
        yield f"a row is in {range_text(n_strata)} strata{none if n_none else ''}"
    fusion = plain_name(type(estimator.fusion_).__name__)
    yield f"one {plain_name(member)} per stratum, fused by {fusion}"
    n_constant = len(estimator.constant_strata_)
    if n_constant:
        value = "class" if hasattr(estimator, "classes_") else "value"
        yield f"{n_constant} of {estimator.n_strata_} strata hold one {value} only"


def described_strata(
    model: Any, X: Any, y: Any, *, columns: Sequence[str], kinds: Sequence[str]
) -> StrataDescription | None:
    """Describe a model's strata on the rows it was fitted on; None if it has no strata."""
    if not matches(final_step(model)):
        return None
    found = _describe(ModelContext(model, columns, X, y, kinds=kinds))
    in_sample = found is not None and found.error_rows == "given"
    return replace(found, error_rows="training") if found is not None and in_sample else found


def _describe(context: ModelContext) -> StrataDescription | None:
    """Describe the strata: as noted after the fit, or else by the rows given."""
    noted = context.details.get("strata")
    if noted is not None:
        return msgspec.convert(noted, StrataDescription)
    if context.X is None or len(context.X) < MIN_ROWS:
        return None
    ensemble: Ensemble = context.estimator
    rows = rows_at_final_step(context.model, context.X)
    of_classes = hasattr(ensemble, "classes_")
    errors = None
    if context.y is not None and of_classes:
        errors = context.model.predict(context.X) != context.y
    found = describe_strata(
        context.X, ensemble.stratifier_.transform(rows), names=context.columns,
        kinds=context.kinds or None,
        labels=getattr(final_step(ensemble.stratifier_), "stratum_names_", None),
        errors=errors,
    )  # fmt: skip
    out_of_fold = ensemble.stratum_errors_, ensemble.out_of_fold_error_
    return found.with_errors(*out_of_fold, "out-of-fold", is_classification=of_classes)


def explain(context: ModelContext) -> Explanation:
    """Show the strata, the map, the members."""
    document = strata_document(context)
    names = [_stratum_title(each) for each in document.members if each.dominant_in is not None]
    strata: list[Block] = [NOT_DESCRIBED if document.strata is None else document.strata.block]
    return Explanation(
        document,
        _sentences(document),
        {
            "strata": str(document.n_strata),
            "members": str(len(document.members)),
            "stratifier": document.stratifier,
            "fusion": plain_name(document.fusion),
        },
        [
            Section("Strata", strata),
            Section("Map of the strata", [strata_map(context, names)], in_terminal=False),
            Section("Members", [dominance_bars(document, names), members_table(document)]),
        ],
        display="A map of the strata needs rows: give `X`."
        if context.X is None
        else lambda: _drawn_map(context),
    )


def _drawn_map(context: ModelContext) -> Any:
    classes = context.y if hasattr(context.estimator, "classes_") else None
    display = StrataDisplay.of_model(context.model, context.X, classes)
    return display.plot(mark=context.row).figure_


def strata_document(context: ModelContext) -> StrataDocument:
    """Describe each member; shares are of the rows given, or of the training rows without."""
    ensemble: Ensemble = context.estimator
    stratifier = ensemble.stratifier_
    rows = rows_at_final_step(context.model, context.X)
    found = final_step(stratifier).memberships_ if rows is None else stratifier.transform(rows)
    shares = _dominant_shares(np.asarray(found, dtype=float))
    description = _describe(context)
    members = [
        StrataMemberDocument(
            **_names(ensemble, description, report["stratum"]),
            estimator=type(final_step(member)).__name__,
            n_rows=report["n_rows"],
            classes=[str(label) for label in report.get("classes", ())],
            weight=report["weight"],
            score=report["score"],
            dominant_in=None if report["stratum"] is None else float(shares[report["stratum"]]),
            constant=report["constant"],
            rmse=report.get("rmse"),
        )
        for report, member in zip(
            ensemble.member_report_, [*ensemble.estimators_, *ensemble.anchors_], strict=True
        )
    ]
    size = ensemble.stratum_size_
    return StrataDocument(
        stratifier=type(final_step(stratifier)).__name__,
        fusion=type(ensemble.fusion_).__name__,
        n_strata=int(ensemble.n_strata_),
        stratum_size=None if size is None else float(size),
        rows="training" if context.X is None else "given",
        members=members,
        strata=description,
    )


def _dominant_shares(memberships: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the rows with their highest membership in each stratum; ties share a row evenly."""
    best = memberships.max(axis=1, keepdims=True)
    dominant = (memberships >= best - 1e-9) & (best > 0)
    shares = dominant / np.maximum(dominant.sum(axis=1, keepdims=True), 1)
    return np.asarray(shares.mean(axis=0))


def _names(
    ensemble: Ensemble, description: StrataDescription | None, stratum: int | None
) -> dict[str, Any]:
    """Name a member by its stratum's number or source, and by its description."""
    if stratum is None:
        return {"member": "anchor", "name": None}
    sources = getattr(final_step(ensemble.stratifier_), "stratum_names_", None)
    member = str(stratum) if sources is None else str(sources[stratum])
    return {
        "member": member,
        "name": None if description is None else description.strata[stratum].name,
    }


def _stratum_title(member: StrataMemberDocument) -> str:
    if member.name in {None, member.member}:
        return f"stratum {member.member}"
    return f"{member.member}: {member.name}"


def _full_name(member: StrataMemberDocument | MemberPrediction) -> str:
    plain = member.name in {None, member.member}
    return member.member if plain else f"{member.member} {member.name}"


def _sentences(document: StrataDocument) -> list[str]:
    """State what the ensemble is, what all members are, and how many are constant."""
    members, size = document.members, document.stratum_size
    each = "" if size is None else f", each with {size:.0%} of the rows"
    kinds = {"" if each.constant else each.estimator for each in members}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    alike = f"; members: {plain_name(kind)}" if kind else ""
    text = f"{document.n_strata} strata found by {document.stratifier}{each}{alike}"
    sentences = [f"{text}; fusion: {plain_name(document.fusion)}."]
    n_constant = sum(each.constant for each in members)
    if n_constant:
        value = "class" if any(each.classes for each in members) else "value"
        hold, are = (
            ("stratum holds", "member is") if n_constant == 1 else ("strata hold", "members are")
        )
        sentences.append(f"{n_constant} {hold} rows of one {value} only: their {are} constant.")
    return sentences


def dominance_bars(document: StrataDocument, names: Sequence[str]) -> BarsBlock:
    """Draw the share of rows with their highest membership in each stratum."""
    shares = [each.dominant_in for each in document.members if each.dominant_in is not None]
    bars = [
        Bar(name, share, f"{share:.1%}", strong=True)
        for name, share in zip(names, shares, strict=True)
    ]
    caption = f"Share of the {document.rows} rows with their highest membership in the stratum."
    return BarsBlock(bars, caption, percent=True, from_zero=True)


def members_table(document: StrataDocument) -> TableBlock:
    """List the members; columns without information are left out."""
    members = document.members
    score = "accuracy" if any(each.classes for each in members) else "R²"
    columns = {
        Heading("stratum"): [Field(_full_name(each)) for each in members],
        Heading("member"): [
            Field("constant" if each.constant else plain_name(each.estimator)) for each in members
        ],
        Heading("rows", numeric=True): [count_field(each.n_rows) for each in members],
        Heading("classes"): [Field(_classes_text(each.classes)) for each in members],
        Heading("weight", numeric=True): [share_field(each.weight) for each in members],
        Heading(score, numeric=True): [number_field(each.score, 3) for each in members],
        Heading("RMSE", numeric=True): [_number(each.rmse) for each in members],
        Heading("dominant in", numeric=True): [share_field(each.dominant_in) for each in members],
    }
    # a gate has weights per row only, an in-sample fusion no out-of-fold score
    shown = {
        column: fields
        for column, fields in columns.items()
        if set(fields) != {NOTHING}
        and not (column.name in {"member", "classes"} and len(set(fields)) == 1)
    }
    legends = {
        "weight": "weight in the fusion",
        score: "out-of-fold, on rows of the stratum",
        "RMSE": "out-of-fold, on the same rows",
        "dominant in": f"share of the {document.rows} rows with their highest membership in it",
    }
    names = {column.name for column in shown}
    legend = "; ".join(f"{name}: {text}" for name, text in legends.items() if name in names)
    rows = list(zip(*shown.values(), strict=True))
    return TableBlock(list(shown), rows, "Members of the ensemble", "Rows: those that the "
                      f"member was fitted on; {legend}.")  # fmt: skip


def _classes_text(labels: Sequence[str]) -> str:
    if len(labels) > MAX_CLASSES:
        return f"{len(labels)} classes"
    return f"{', '.join(labels)}{' only' if len(labels) == 1 else ''}"


def _number(value: float | None, digits: int = 4) -> Field:
    return NOTHING if value is None else Field(write_number(value, digits), value)


def strata_map(context: ModelContext, names: Sequence[str]) -> Block:
    """Map the strata with the rows given, or give the reason why there is no map."""
    if context.X is None:
        return NO_ROWS
    step = -(-len(context.X) // MAX_MAP_ROWS)
    kept = np.arange(0, len(context.X), step)
    if context.row is not None:
        kept = np.union1d(kept, context.row)
    mark = None if context.row is None else int(np.searchsorted(kept, context.row))
    of_classes = context.y is not None and hasattr(context.estimator, "classes_")
    classes = np.asarray(context.y)[kept] if of_classes else None
    try:
        display = StrataDisplay.of_model(context.model, safe_indexing(context.X, kept), classes)
    except ValueError as error:
        return str(error)
    shown = outlined_strata(display, mark)

    def draw(ax: Any) -> None:
        display.plot(strata=shown, mark=mark, ax=ax)
        # below the map, so that it is no wider than a phone
        legend = ax.legend(loc="upper left", bbox_to_anchor=(0, -0.13), frameon=False)
        for text in legend.get_texts():
            text.set_text(fill(text.get_text(), MAX_LEGEND))

    n_strata = len(display.sizes)
    which = f"the {n_strata} strata"
    if len(shown) < n_strata:
        first = "those dominant in most rows" if mark is None else "those of the row first"
        which = f"{len(shown)} of {which}, {first}"
    listed = "; ".join(names[stratum] for stratum in shown)
    pointed = "" if mark is None else f" The ring marks row {context.row}."
    return FigureBlock(
        draw, 4.8, 4.2,
        f"Map of {len(display.points):,} rows with outlines of strata: {listed}.",
        f"Rows and {which}: {listed}. An ellipse shows 1.5 standard deviations; strata that "
        f"overlap here may be separate in other dimensions.{pointed}",
    )  # fmt: skip


def outlined_strata(display: StrataDisplay, mark: int | None) -> list[int]:
    """Choose all strata if they are few; else the row's own, then those dominant in most rows."""
    n_strata = len(display.sizes)
    dominant = np.bincount(display.strongest[display.strongest >= 0], minlength=n_strata)
    order = sorted(range(n_strata), key=lambda stratum: -dominant[stratum])
    if mark is None:
        return sorted(order[:MAX_OUTLINES])
    own = display.memberships[mark]
    order.sort(key=lambda stratum: -own[stratum] if own[stratum] >= WITHIN else 0.0)
    return order[:MAX_OUTLINES]


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Give the members' predictions for a row, reasons for its strata, and contributions."""
    row = row_document(context)
    table, left_out = member_table(row)
    text = prediction_text(row)
    if not row.classes:
        text += f", with a standard deviation of {write_number(row.scores[1])}"
    blocks: list[Block] = [f"{text}.", table, *([left_out] if left_out else [])]
    near = [each for each in _by_weight(row) if each.reasons and (each.membership or 0) >= WITHIN]
    blocks += [
        f"Similar to stratum {_full_name(each)} in: {'; '.join(each.reasons)}."
        for each in near[:MAX_REASONS]
    ]
    blocks.append(NOT_LINEAR if row.decision is None else contribution_bars(row.decision))
    return row, [Section(f"Row {row.row}", blocks)]


def row_document(context: ModelContext) -> RowExplanation:
    """Give the members' predictions for a row, with the reasons for its strata."""
    ensemble: Ensemble = context.estimator
    description = _describe(context)
    encoded = context.encoded_row
    found = ensemble.explain_row(encoded)
    fields = dict(zip(context.columns, context.values(), strict=True))
    weights, classes = found["weights"], [str(each) for each in getattr(ensemble, "classes_", ())]

    def scores(outputs: Any, std: float | None = None) -> list[float]:
        """Scores of the classes, or a prediction and its standard deviation."""
        values = [float(each) for each in outputs]
        if classes:
            return values
        return [values[0], float(np.sqrt(values[1])) if std is None else std]

    members = []
    for i, (report, outputs) in enumerate(
        zip(ensemble.member_report_, found["members"], strict=True)
    ):
        stratum = report["stratum"]
        members.append(
            MemberPrediction(
                **_names(ensemble, description, stratum),
                scores=scores(outputs, report.get("rmse")),
                weight=None if weights is None else float(weights[i]),
                membership=None if stratum is None else float(found["strata"][stratum]),
                reasons=stratum_reasons(description, stratum, fields),
            )
        )
    return RowExplanation(
        context.row_index,
        str(found["prediction"]) if classes else write_number(found["prediction"], 6),
        classes,
        scores(found["scores"]),
        None if weights is None else _decision(context, encoded, weights),
        members,
    )


def _decision(context: ModelContext, encoded: Any, weights: Any) -> Decision | None:
    """Sum the linear members' coefficients, each with its weight in this prediction."""
    ensemble: Ensemble = context.estimator
    origins = feature_origins(context.model, context.columns)
    means = ensemble.feature_means_
    stacked = isinstance(ensemble.fusion_, Stacking)
    if origins is None or means is None or stacked:
        return None
    classes = getattr(ensemble, "classes_", None)
    positions = None if classes is None else np.arange(len(classes))
    members = [*ensemble.estimators_, *ensemble.anchors_]
    parts = [(linear_part(each, positions), w) for each, w in zip(members, weights, strict=True)]
    linear = [(part, w) for part, w in parts if part is not None]
    if not linear:
        return None
    label, name = None, TARGET
    if classes is not None:
        label = int(np.flatnonzero(classes == ensemble.predict(encoded)[0])[0])
        name = str(classes[label])
    shares = np.array([w for _, w in linear])
    coef, level = weighted_sum([part for part, _ in linear], shares, label)
    amounts = by_column(coef * (np.asarray(encoded)[0] - means), origins, len(context.columns))
    baseline = level + float(coef @ means)
    n_classes = None if classes is None else len(classes)
    return Decision(
        label=name,
        measure=weighted_measure("linear members", n_classes, ensemble.fusion_),
        baseline=baseline,
        contributions=context.contributions(amounts),
        value=baseline + float(amounts.sum()),
        explained_weight=float(min(shares.sum(), 1.0)),
    )


def _by_weight(row: RowExplanation) -> list[MemberPrediction]:
    """Order members by weight, or else by membership."""
    return sorted(
        row.member_predictions, key=lambda each: (-(each.weight or 0), -(each.membership or 0))
    )


def member_table(row: RowExplanation) -> tuple[TableBlock, str]:
    """List the members of the largest weights and the fused prediction; count the others."""
    heads = ["prediction", "std"]
    if row.classes:
        heads = [row.classes[k] for k in likely_classes(row.scores)]

    def fields(scores: Sequence[float]) -> list[Field]:
        if not row.classes:
            return [_number(each, 6) for each in scores]
        return [number_field(scores[k], 3) for k in likely_classes(row.scores)]

    columns = [
        Heading("stratum"),
        *(Heading(name, numeric=True) for name in ("membership", "weight", *heads)),
    ]
    members = _by_weight(row)
    shown = [
        each for each in members
        if each.weight is None or max(each.weight, each.membership or 0) >= MIN_SHARE
    ][:MAX_MEMBERS]  # fmt: skip
    rows = [
        [
            Field(_full_name(each)), number_field(each.membership, 3), share_field(each.weight),
            *fields(each.scores),
        ]
        for each in shown
    ]  # fmt: skip
    rows.append([Field("fused"), Field(""), Field(""), *fields(row.scores)])
    scores = "The last columns are the member's scores of the classes."
    if not row.classes:
        scores = "std: standard deviation."
    legend = (
        f"Membership: of the row in the stratum. Weight: of the member in this prediction. {scores}"
    )
    table = TableBlock(columns, rows, f"Member predictions for row {row.row}", legend)
    n_others = len(members) - len(shown)
    if n_others == 0:
        return table, ""
    weight = sum(each.weight or 0 for each in members) - sum(each.weight or 0 for each in shown)
    part = f"with {weight:.1%} of the weight" if weight >= MIN_SHARE else "without weight"
    return table, f"Not shown: {count(n_others, 'member')} {part}."


def stratum_reasons(
    description: StrataDescription | None, stratum: int | None, fields: Mapping[str, Any]
) -> list[str]:
    """List the columns in which a row is nearer to its stratum than to all rows."""
    if description is None or stratum is None:
        return []
    found = [
        (_nearness(each, fields[each.column]), each)
        for each in description.strata[stratum].differences
        if each.column in fields
    ]
    nearest = sorted((pair for pair in found if pair[0] > 0), key=lambda pair: -pair[0])
    return [_reason(each, fields[each.column]) for _, each in nearest[:MAX_REASONS]]


def _nearness(difference: ColumnDifference, value: Any) -> float:
    """Measure how much nearer a value is to the stratum's than to all rows', in its effect size."""
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    if difference.kind == "missing":
        return difference.effect_size if missing else -difference.effect_size
    if missing:
        return 0.0
    if difference.kind == "categorical":
        same = value_text(value) == difference.category
        return difference.effect_size if same else -difference.effect_size
    between = abs(difference.stratum - difference.all_rows)
    closer = abs(float(value) - difference.all_rows) - abs(float(value) - difference.stratum)
    return abs(difference.effect_size) * closer / between if between > 0 else 0.0


def _reason(difference: ColumnDifference, value: Any) -> str:
    """Write the row's value beside the stratum's and that of all rows."""
    text = value_text(value, difference.kind)
    if difference.kind in {"categorical", "missing"}:
        return f"{difference.column} {'' if text == 'missing' else '= '}{text}"
    stratum, everywhere = map(difference.format_value, (difference.stratum, difference.all_rows))
    return f"{difference.column} {text} (stratum {stratum}, all rows {everywhere})"
