"""Joint subspace ensembles described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count,
    final_step,
    plain_name,
    rows_at_final_step,
    set_module,
)
from ensemblage.datasets import as_pipeline
from ensemblage.fusion import FusionContext, SoftmaxGate
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section, Shade, ShadesBlock
from ensemblage.report._contributions import (
    Decision,
    LinearPart,
    RowDecision,
    add_up,
    against_others,
    by_column,
    contributions_of,
    row_section,
    row_text,
    weighted_odds,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelPage,
    Subject,
    feature_names,
    feature_origins,
    saved_picture,
    spread,
)
from ensemblage.subspace import CoSelectionDisplay

Doubles = NDArray[np.float64]


@set_module("ensemblage.report")
class CoSelection(NamedTuple):
    """A co-selection matrix that can be read.

    Parameters
    ----------
    feature_names : list of str
        One per row and column.
    matrix : ndarray of shape (n_features, n_features)
        Share of the members that use both features; how often each is used on the diagonal.
    """

    feature_names: list[str]
    matrix: NDArray[np.float64]


def co_selected(
    model: Any, top: int | None = None, *, columns: Sequence[str] = ()
) -> CoSelection | None:
    """Co-selection matrix of a fitted model, most used features first.

    Parameters
    ----------
    model : estimator or Pipeline
        As ``make_model`` makes it, fitted, or an estimator of ``ensemblage.subspace``.
    top : int, default=None
        Show so many features at most.
    columns : sequence of str, default=()
        Names of the table's columns, for a model that was fitted on an array.

    Returns
    -------
    CoSelection or None
        None if the model has no such matrix.

    Examples
    --------
    >>> from ensemblage.datasets import make_quarter_circle
    >>> from ensemblage.subspace import JointSubspaceSelector
    >>> X, y = make_quarter_circle(100, n_dummies=2, random_state=0)
    >>> selector = JointSubspaceSelector(n_estimators=5, random_state=0).fit(X, y)
    >>> sorted(co_selected(selector, top=2).feature_names)
    ['x0', 'x1']
    """
    model = as_pipeline(model)
    estimator = final_step(model)
    if not hasattr(estimator, "co_selection_"):
        return None
    matrix = estimator.co_selection_
    names = feature_names(model, columns if len(columns) > 0 else _columns(model))
    order = np.argsort(-np.diag(matrix), kind="stable")[:top]
    return CoSelection([names[d] for d in order], matrix[np.ix_(order, order)])


def _columns(model: Any) -> list[str]:
    numbered = [f"x{d}" for d in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", numbered)]


N_STEPS = 4000


class GatedMixture(NamedTuple):
    """Members (n_members, n_classes, n_features), and a gate (n_members, n_features)."""

    coef: Doubles
    intercept: Doubles
    gate_coef: Doubles
    gate_intercept: Doubles


class WayParts(NamedTuple):
    """Log odds of a class at the mean of the rows and at the row; what each feature adds."""

    start: float
    end: float
    amounts: Doubles


def parts_of_the_way(mixture: GatedMixture, z: Doubles, label: int) -> WayParts:
    """Give each feature its part of what happens between the mean of the rows and one row."""
    middles = (np.arange(N_STEPS) + 0.5) / N_STEPS
    ends = _log_parts(mixture, z, np.array([0.0, 1.0]))
    start, end = (float(against_others(each, label)) for each in _fused(*ends))
    gates, members = _log_parts(mixture, z, middles)
    # how much of each class's probability is each member's, (n_steps, n_members, n_classes)
    shares = np.exp(gates[:, :, None] + members - _fused(gates, members)[:, None, :])
    contrast = against_others(np.eye(shares.shape[2]), label)
    for_label = shares * contrast
    by_member = for_label.sum(axis=2)
    by_class = for_label - by_member[:, :, None] * np.exp(members)
    slope = by_member.mean(axis=0) @ mixture.gate_coef
    slope += np.einsum("kc,kcd->d", by_class.mean(axis=0), mixture.coef)
    return WayParts(start, end, z * slope)


def way_measure(n_classes: int) -> str:
    """Say in words what the parts of the way add up to."""
    what = "log odds" if n_classes == 2 else "log probability against the mean of the classes"
    return (
        f"{what}; the start is that of the mean of the training rows, and each column adds its "
        "part on the straight way from there to this row, through members and gate"
    )


def _log_parts(mixture: GatedMixture, z: Doubles, steps: Doubles) -> tuple[Doubles, Doubles]:
    """Log weights of the members and their log probabilities at some steps of the way."""
    gates = mixture.gate_intercept + steps[:, None] * (mixture.gate_coef @ z)
    members = mixture.intercept + steps[:, None, None] * (mixture.coef @ z)
    return np.asarray(log_softmax(gates, axis=1)), np.asarray(log_softmax(members, axis=2))


def _fused(gates: Doubles, members: Doubles) -> Doubles:
    return np.asarray(logsumexp(gates[:, :, None] + members, axis=1))


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
        numbers = [Heading(str(d + 1), numeric=True) for d in range(len(rows))]
        said = (
            "Share of the members that use both features, by their numbers; on the diagonal, that "
            "use the feature at all."
        )
        return [said, TableBlock([Heading("feature"), *numbers], rows, "")]

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
        columns = [Heading("feature"), *(Heading(name, numeric=True) for name in names)]
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
        mixture = GatedMixture(coefs, estimator.intercepts_, gate.coef_, gate.intercept_)
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
