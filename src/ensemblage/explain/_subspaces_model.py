"""Joint subspaces: which features the members use, and which together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage.evaluation import CoSelectionDisplay
from ensemblage.explain._co_selected import co_selected
from ensemblage.explain._decision import (
    Decision,
    LinearPart,
    RowDecision,
    add_up,
    by_column,
    contributions_of,
    row_section,
    row_text,
    weighted_odds,
)
from ensemblage.explain._explanation import (
    Explanation,
    ModelPage,
    Subject,
    saved_picture,
    spread,
)
from ensemblage.explain._feature_origins import feature_origins
from ensemblage.explain._gated_mixture import GatedMixture, parts_of_the_way, way_measure
from ensemblage.fusion import FusionContext, SoftmaxGate
from ensemblage.messages import count, plain_name
from ensemblage.pages import (
    Bar,
    BarsBlock,
    Block,
    Column,
    Field,
    Section,
    Shade,
    ShadesBlock,
    TableBlock,
)
from ensemblage.parallel import final_step, rows_at_final_step

MOST_FEATURES = 12
"""So many are shown, the most used first."""


class SubspacesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Features chosen together."""

    features: Annotated[list[str], Meta(description="The most used features, of those that are.")]
    co_selection: Annotated[
        list[list[Annotated[float, Meta(ge=0, le=1)]]],
        Meta(description="Share of the members that use both features; on the diagonal each."),
    ]

    @property
    def used(self) -> list[float]:
        """Share of the members that use each feature."""
        return [row[d] for d, row in enumerate(self.co_selection)]


@dataclass(frozen=True)
class SubspacesExplanation(Explanation):
    """The co-selection matrix in the names of the user's columns."""

    has = "features chosen together"
    documents = (SubspacesFacts,)

    facts: SubspacesFacts
    story: RowDecision | None = None

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise an estimator of ``ensemblage.subspace`` by its matrix."""
        return hasattr(estimator, "co_selection_")

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell the sizes of the subspaces, and how many features all of them share."""
        del columns
        if hasattr(estimator, "supports_"):
            sizes = estimator.supports_.sum(axis=1)
            yield f"{len(sizes)} members on {spread(sizes)} features each{_fused_by(estimator)}"
        always = int((np.diag(estimator.co_selection_) == 1).sum())
        yield f"{_how_many(always)} {_are(always)} used by every member"

    @classmethod
    def of(cls, subject: Subject) -> SubspacesExplanation:
        """Read the matrix of the most used features."""
        found = co_selected(subject.model, MOST_FEATURES, columns=subject.columns)
        if found is None:
            raise ValueError("The model has no co-selection matrix.")
        story = None if subject.row is None else subspaces_decision(subject, subject.row)
        used = max(1, int((np.diag(found.matrix) > 0).sum()))
        matrix = found.matrix[:used, :used].tolist()
        return cls(SubspacesFacts(found.feature_names[:used], matrix), story)

    @property
    def document(self) -> SubspacesFacts | RowDecision:
        """The decision about the row if one was named, else the matrix."""
        return self.facts if self.story is None else self.story

    def text(self) -> list[str | TableBlock]:
        """List the matrix, its columns by number, or what moved the decision about the row."""
        if self.story is not None:
            return row_text(self.story)
        rows = [
            [Field(f"{d + 1} {name}"), *(Field(f"{share:.0%}") for share in shares)]
            for d, (name, shares) in enumerate(self._named_rows())
        ]
        numbers = [Column(str(d + 1), numeric=True) for d in range(len(rows))]
        said = (
            "Share of the members that use both features, by their numbers; on the diagonal, that "
            "use the feature at all."
        )
        return [said, TableBlock([Column("feature"), *numbers], rows, "")]

    def page(self) -> ModelPage:
        """Show how often each feature is used, and which together."""
        names, used = self.facts.features, self.facts.used
        always = sum(share == 1 for share in used)
        told = (
            f"Of the {count(len(names), 'feature')} shown, the most used first, "
            f"{always or 'none'} {_are(always)} used by every member."
        )
        bars = [
            Bar(name, share, f"{share:.0%}", strong=share == 1)
            for name, share in zip(names, used, strict=True)
        ]
        columns = [Column("feature"), *(Column(name, numeric=True) for name in names)]
        rows = [
            [Field(name), *(Field(f"{share:.0%}", share) for share in shares)]
            for name, shares in self._named_rows()
        ]
        said = "Share of the members that use each feature."
        both = "Share of the members that use both features"
        together: list[Block] = [
            co_selection_figure(names, self.facts.co_selection),
            TableBlock(columns, rows, both, folded=True),
        ]
        sections = [
            Section("Use", [BarsBlock(bars, said, percent=True, from_zero=True)]),
            Section("Chosen together", together),
        ]
        if self.story is not None:
            sections.insert(0, row_section(self.story))
        return ModelPage([told], [("features shown", str(len(names)))], sections)

    def draw(self, picture: str = "png") -> bytes:
        """Draw the matrix."""
        matrix = np.asarray(self.facts.co_selection)
        display = CoSelectionDisplay(matrix, feature_names=self.facts.features).plot()
        return saved_picture(display, picture, bbox_inches="tight")

    def _named_rows(self) -> Iterator[tuple[str, list[float]]]:
        return zip(self.facts.features, self.facts.co_selection, strict=True)


def subspaces_decision(subject: Subject, row: int) -> RowDecision:
    """Tell what was predicted, and which columns moved it."""
    estimator, X = final_step(subject.model), subject.X[row : row + 1]
    if not hasattr(estimator, "predict"):
        raise ValueError("This model selects features and decides nothing about a row.")
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"This is a {type(estimator).__name__}; only decisions between classes are explained "
            "row by row. Leave out the row to see which features are used."
        )
    encoded = np.asarray(rows_at_final_step(subject.model, X), dtype=float)
    scores = estimator.predict_proba(encoded)[0]
    label = int(scores.argmax())
    classes = [str(each) for each in estimator.classes_]
    return RowDecision(
        row=row,
        prediction=classes[label],
        classes=classes,
        scores=[float(score) for score in scores],
        decision=_what_moved(subject, row, encoded, label),
    )


def _what_moved(subject: Subject, row: int, encoded: Any, label: int) -> Decision | None:
    """Add up what columns did to the members, and to the gate if there is one."""
    estimator = final_step(subject.model)
    if estimator.basis != "linear":  # what products of columns did is no one column's
        return None
    origins = feature_origins(subject.model, subject.columns)
    z = (encoded[0] - estimator.mean_) / estimator.scale_
    context = FusionContext(X=z[None])
    weights = estimator.fusion_.row_weights(estimator.member_outputs(encoded), context)
    if weights is None or origins is None:
        return None
    n_classes = len(estimator.classes_)
    coefs = estimator.coefs_ * estimator.supports_[:, None, :]
    if isinstance(estimator.fusion_, SoftmaxGate):
        gate = estimator.fusion_
        mixture = GatedMixture(coefs, estimator.intercepts_, gate.coef, gate.intercept)
        base, value, features = parts_of_the_way(mixture, z, label)
        measure = way_measure(n_classes)
    else:
        parts = [LinearPart(*each) for each in zip(coefs, estimator.intercepts_, strict=True)]
        coef, base = add_up(parts, weights[0], label)
        features, value = coef * z, base + float((coef * z).sum())
        measure = weighted_odds("members", n_classes, estimator.fusion_)
    amounts = by_column(features, origins, len(subject.columns))
    moved = contributions_of(subject.columns, subject.values(row), amounts, subject.kinds)
    return Decision(str(estimator.classes_[label]), measure, base, moved, value)


def co_selection_figure(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> ShadesBlock:
    """Colour which features are chosen together."""
    pairs = [(matrix[i][j], i, j) for i in range(len(names)) for j in range(i)]
    best = max(pairs, default=None)
    most = "" if best is None else (
        f" Most often together: {names[best[2]]} and {names[best[1]]}, in {best[0]:.0%} of the "
        "members."
    )  # fmt: skip
    return ShadesBlock(
        "feature",
        [str(d + 1) for d in range(len(names))],
        [
            (f"{d + 1} {name}", [Shade(f"{100 * share:.0f}", share) for share in matrix[d]])
            for d, name in enumerate(names)
        ],
        "Per cent of the members that use both features; on the diagonal, that use the feature at "
        f"all.{most}",
    )


def _fused_by(estimator: Any) -> str:
    fused = getattr(estimator, "fusion_", None)
    if fused is None:
        return ""
    return f", fused by {fused if isinstance(fused, str) else plain_name(type(fused).__name__)}"


def _how_many(features: int) -> str:
    return count(features, "feature") if features else "no feature"


def _are(number: int) -> str:
    return "is" if number < 2 else "are"
