"""Joint subspace ensembles described: co-selection, and contributions to a prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from scipy.special import log_softmax, logsumexp

from ensemblage._core import count, plain_name
from ensemblage.fusion import FusionContext, SoftmaxGate
from ensemblage.report._blocks import Bar, BarsBlock, Section, ShadesBlock
from ensemblage.report._contributions import (
    Decision,
    Doubles,
    RowExplanation,
    Share,
    by_column,
    class_contrast,
    row_section,
    weighted_measure,
    weighted_sum,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelContext,
    feature_names,
    feature_origins,
    range_text,
)
from ensemblage.subspace import CoSelectionDisplay

N_STEPS = 4000
"""Steps of the path along which gradients are integrated."""
MAX_FEATURES = 12
"""Features that are shown, the most frequently used first."""


def integrated_gradients(
    members: tuple[Doubles, Doubles], gate: tuple[Doubles, Doubles], z: Doubles, label: int
) -> tuple[float, float, Doubles]:
    """Attribute a class's log-odds to features, along the line from the mean row to row z.

    Members are coefficients (n_members, n_classes, n_features) and intercepts, the gate's are
    (n_members, n_features). Given are the log-odds at the mean row and at z, and contributions
    (n_features,).
    """

    def log_parts(steps: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Log weights, members' and fused log probabilities at some steps of the path."""
        gates = np.asarray(log_softmax(gate[1] + steps[:, None] * (gate[0] @ z), axis=1))
        logits = members[1] + steps[:, None, None] * (members[0] @ z)
        logs = np.asarray(log_softmax(logits, axis=2))
        return gates, logs, np.asarray(logsumexp(gates[:, :, None] + logs, axis=1))

    ends = log_parts(np.array([0.0, 1.0]))[2]
    start, end = (float(class_contrast(each, label)) for each in ends)
    gates, logs, fused = log_parts((np.arange(N_STEPS) + 0.5) / N_STEPS)
    # how much of each class's probability is each member's, (n_steps, n_members, n_classes)
    shares = np.exp(gates[:, :, None] + logs - fused[:, None, :])
    for_label = shares * class_contrast(np.eye(shares.shape[2]), label)
    by_member = for_label.sum(axis=2)
    by_class = for_label - by_member[:, :, None] * np.exp(logs)
    slope = by_member.mean(axis=0) @ gate[0]
    slope += np.einsum("kc,kcd->d", by_class.mean(axis=0), members[0])
    return start, end, z * slope


class SubspaceDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Co-selection of features."""

    features: Annotated[list[str], Meta(description="The most frequently used features.")]
    co_selection: Annotated[
        list[list[Share]],
        Meta(description="Share of the members that use both features; on the diagonal each."),
    ]


DOCUMENTS = (SubspaceDocument,)


def matches(estimator: Any) -> bool:
    """Recognise an estimator of ``ensemblage.subspace`` by its matrix."""
    return hasattr(estimator, "co_selection_")


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Sizes of the subspaces, and how many features all of them share."""
    del columns
    if hasattr(estimator, "supports_"):
        sizes, fusion = estimator.supports_.sum(axis=1), getattr(estimator, "fusion_", None)
        name = fusion if isinstance(fusion, str) else plain_name(type(fusion).__name__)
        fused = "" if fusion is None else f", fused by {name}"
        yield f"{len(sizes)} members on {range_text(sizes)} features each{fused}"
    always = int((np.diag(estimator.co_selection_) == 1).sum())
    features = count(always, "feature") if always else "no feature"
    yield f"{features} {'is' if always < 2 else 'are'} used by every member"


def explain(context: ModelContext) -> Explanation:
    """Show how often each feature is used, and the co-selection."""
    names = feature_names(context.model, context.columns)
    used = np.diag(context.estimator.co_selection_)
    order = np.argsort(-used, kind="stable")[:MAX_FEATURES]
    order = order[: max(1, int((used[order] > 0).sum()))]
    matrix = context.estimator.co_selection_[np.ix_(order, order)]
    document = SubspaceDocument([names[d] for d in order], matrix.tolist())
    n_always = int((used[order] == 1).sum())
    bars = [
        Bar(names[d], float(used[d]), f"{used[d]:.0%}", strong=bool(used[d] == 1)) for d in order
    ]
    caption = "Share of the members that use the feature."
    text = (
        f"Of the {count(len(order), 'most frequently used feature')}, "
        f"{n_always or 'none'} {'is' if n_always < 2 else 'are'} used by every member."
    )
    return Explanation(
        document,
        [text],
        {"features shown": str(len(order))},
        [
            Section("Feature use", [BarsBlock(bars, caption, percent=True, from_zero=True)]),
            Section("Co-selection", [co_selection_figure(document)]),
        ],
        display=lambda: CoSelectionDisplay(matrix, feature_names=document.features).plot().figure_,
    )


def co_selection_figure(document: SubspaceDocument) -> ShadesBlock:
    """Draw the co-selection of features as a heat map."""
    names, matrix = document.features, document.co_selection
    pairs = [(matrix[i][j], i, j) for i in range(len(names)) for j in range(i)]
    caption = (
        "Percentage of the members that use both features, numbered as in the rows; on the "
        "diagonal, that use the feature."
    )
    if pairs:
        share, second, first = max(pairs)
        caption += f" Most frequent pair: {names[first]} and {names[second]}, in {share:.0%} of "
        caption += "the members."
    rows = [
        (f"{d + 1} {name}", [(f"{100 * share:.0f}", share) for share in matrix[d]])
        for d, name in enumerate(names)
    ]
    return ShadesBlock("feature", [str(d + 1) for d in range(len(names))], rows, caption)


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Give the prediction, and contributions of the columns."""
    estimator = context.estimator
    if not hasattr(estimator, "predict"):
        raise ValueError("This model selects features; it has no predictions to explain.")
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"This is a {type(estimator).__name__}: only a classifier's predictions are explained. "
            "Leave out `row` to see which features are used."
        )
    encoded = np.asarray(context.encoded_row, dtype=float)
    scores = estimator.predict_proba(encoded)[0]
    label = int(scores.argmax())
    classes = [str(each) for each in estimator.classes_]
    decision = _decision(context, encoded, label)
    row = RowExplanation(
        context.row_index, classes[label], classes, [float(each) for each in scores], decision
    )
    return row, [row_section(row)]


def _decision(context: ModelContext, encoded: Doubles, label: int) -> Decision | None:
    """Sum contributions of columns to the members, and to the gate if there is one."""
    estimator = context.estimator
    if estimator.basis != "linear":  # products of columns have no contribution per column
        return None
    origins = feature_origins(context.model, context.columns)
    z = (encoded[0] - estimator.mean_) / estimator.scale_
    weights = estimator.fusion_.row_weights(
        estimator.member_outputs(encoded), FusionContext(X=z[None])
    )
    if weights is None or origins is None:
        return None
    n_classes = len(estimator.classes_)
    coefs, intercepts = estimator.coefs_ * estimator.supports_[:, None, :], estimator.intercepts_
    if isinstance(estimator.fusion_, SoftmaxGate):
        gate = estimator.fusion_.coef_, estimator.fusion_.intercept_
        baseline, value, features = integrated_gradients((coefs, intercepts), gate, z, label)
        what = "log-odds" if n_classes == 2 else "log probability against the mean of the classes"
        measure = (
            f"{what}; the baseline is that of the mean of the training rows, and each column adds "
            "its integrated gradient from there to this row, through members and gate"
        )
    else:
        parts = list(zip(coefs, intercepts, strict=True))
        coef, baseline = weighted_sum(parts, weights[0], label)
        features, value = coef * z, baseline + float((coef * z).sum())
        measure = weighted_measure("members", n_classes, estimator.fusion_)
    amounts = by_column(features, origins, len(context.columns))
    return Decision(
        str(estimator.classes_[label]), measure, baseline, context.contributions(amounts), value
    )
