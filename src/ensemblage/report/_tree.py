"""Inner trees described, and a row's decision path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count,
    share_field,
    signed_field,
    write_number,
)
from ensemblage.evaluation import MEASURES
from ensemblage.inner import (
    BaseInnerTree,
    TreeDisplay,
    TreeNames,
    TreePath,
    as_text,
    describe_split,
    outline,
    tree_names,
)
from ensemblage.report._blocks import Section, TreeBlock
from ensemblage.report._contributions import (
    TARGET,
    Decision,
    RowExplanation,
    by_column,
    row_section,
    value_text,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelContext,
    feature_categories_of,
    feature_names,
    feature_origins,
)

MAX_IMPORTANCES = 3
CAPTION = (
    "A row follows the splits down to a leaf. At a grey mark the bootstrap thresholds differ: a "
    "row between the least and the greatest goes both ways, by the share of the thresholds. Rows "
    "are training rows, weighted by these shares."
)


class TreeNodeDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node of a tree; a leaf has no column."""

    values: Annotated[
        list[float], Meta(description="Class shares, or the prediction, after shrinkage.")
    ]
    rows: Annotated[float, Meta(ge=0, description="Weight of the training rows in it.")]
    column: str | None = None
    threshold: Annotated[float | None, Meta(description="Median of the bootstrap thresholds.")] = (
        None
    )
    threshold_min: Annotated[
        float | None, Meta(description="Least of the bootstrap thresholds.")
    ] = None
    threshold_max: Annotated[
        float | None, Meta(description="Greatest of the bootstrap thresholds.")
    ] = None
    missing: Annotated[
        str | None, Meta(description="Where a missing value goes: left or right.")
    ] = None
    left: Annotated[int | None, Meta(description="Node of values up to the threshold.")] = None
    right: Annotated[int | None, Meta(description="Node of values above it.")] = None


class TreeDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tree, the root first."""

    classes: list[str]
    shrinkage: Annotated[
        float, Meta(description="Strength by which a node is shrunk towards its parent.")
    ]
    nodes: list[TreeNodeDocument]


DOCUMENTS = (TreeDocument,)


def matches(estimator: Any) -> bool:
    """Recognise a tree of this library."""
    return isinstance(estimator, BaseInnerTree)


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Size of the tree, and the most important features."""
    yield _size(estimator)
    names = _names(estimator, columns).columns
    shares = estimator.feature_importances_
    most = np.argsort(-shares, kind="stable")[:MAX_IMPORTANCES]
    named = [f"{names[j]} {shares[j]:.0%}" for j in most if shares[j] > 0]
    if named:
        yield f"most important features: {', '.join(named)}"


def explain(context: ModelContext) -> Explanation:
    """Show the drawing."""
    estimator, names = context.estimator, _context_names(context)
    size, n_splits = f"A{_size(estimator)[1:]}", estimator.get_n_leaves() - 1
    nodes = outline(estimator.tree_, names)
    n_soft = sum(node.soft for node in nodes)
    lines = as_text(estimator.tree_, names).splitlines()
    alt = f"{size}. It starts with: {lines[0]}"
    return Explanation(
        _document(estimator, names),
        [
            f"{size}.",
            f"The bootstrap thresholds differ at {n_soft} of {count(n_splits, 'split')}.",
        ],
        {
            "leaves": str(n_splits + 1),
            "depth": str(estimator.get_depth()),
            "shrinkage": f"{estimator.shrinkage_:g}",
        },
        [Section("Tree", [TreeBlock(nodes, names.classes, alt, CAPTION, lines)])],
        display=lambda: TreeDisplay(nodes, names.classes).plot().figure_,
    )


def _size(estimator: Any) -> str:
    leaves, depth = estimator.get_n_leaves(), estimator.get_depth()
    return f"a tree with {count(leaves, 'leaf', 'leaves')} and depth {depth}"


def _context_names(context: ModelContext) -> TreeNames:
    columns = feature_names(context.model, context.columns)
    return _names(context.estimator, columns, feature_categories_of(context.model))


def _names(
    estimator: Any, columns: Sequence[str], categories: Sequence[str | None] = ()
) -> TreeNames:
    """Use names and categories of the table's columns if there is one for each."""
    known = len(columns) == estimator.n_features_in_
    names = tree_names(estimator, columns if known else ())
    return names._replace(categories=categories) if known and categories else names


def _document(estimator: Any, names: TreeNames) -> TreeDocument:
    tree = estimator.tree_
    middle = tree.thresholds.shape[1] // 2
    nodes = []
    for node in range(len(tree.left)):
        values, rows = tree.values[node].tolist(), float(tree.weights[node])
        if tree.left[node] < 0:
            nodes.append(TreeNodeDocument(values, rows))
            continue
        thresholds = tree.thresholds[node]
        nodes.append(
            TreeNodeDocument(
                values, rows, column=names.columns[tree.feature[node]],
                threshold=float(thresholds[middle]),
                threshold_min=float(thresholds[0]), threshold_max=float(thresholds[-1]),
                missing="left" if tree.missing_left[node] else "right",
                left=int(tree.left[node]), right=int(tree.right[node]),
            )
        )  # fmt: skip
    return TreeDocument(list(names.classes), estimator.shrinkage_, nodes)


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Give the exact contributions of the columns to the prediction, and the decision path.

    The prediction is a number, or the probability of the predicted class.
    """
    estimator = context.estimator
    path = estimator.explain(context.encoded_row)
    classes = [str(each) for each in getattr(estimator, "classes_", ())]
    label = int(np.argmax(path.prediction))
    predicted = classes[label] if classes else write_number(path.prediction[0], 6)
    decision = _decision(context, path, label, classes[label] if classes else TARGET)
    row = RowExplanation(context.row_index, predicted, classes, path.prediction.tolist(), decision)
    table = path_table(estimator.tree_, path, label, _context_names(context))
    return row, [row_section(row), Section("Decision path", [table])]


def _decision(context: ModelContext, path: TreePath, label: int, name: str) -> Decision | None:
    estimator = context.estimator
    origins = feature_origins(context.model, context.columns)
    if origins is None:
        return None
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None:
        origins = [origins[k] for k in encoder.feature_columns_]
    amounts = np.zeros(estimator.tree_.feature.max() + 1)
    for step in path.steps:
        amounts[estimator.tree_.feature[step.node]] += step.contribution[label]
    summed = by_column(amounts, origins[: len(amounts)], len(context.columns))
    measure = "unit of the target" if name == TARGET else "probability"
    return Decision(
        label=name,
        measure=f"{measure}; the baseline is that of all rows, and each column adds what the "
        "splits on it change on the row's path",
        baseline=float(path.baseline[label]),
        contributions=context.contributions(summed),
        value=float(path.prediction[label]),
    )


def path_table(tree: Any, path: TreePath, label: int, names: TreeNames) -> TableBlock:
    """List the splits on a row's path, and its share on each side."""
    columns = [
        Heading("split"), Heading("value"), Heading("share of the row", numeric=True),
        Heading("share to yes", numeric=True), Heading("contribution", numeric=True),
    ]  # fmt: skip
    places = 3 if names.classes else MEASURES["rmse"].places(float(path.prediction[label]))
    rows = []
    for step in path.steps:
        split = describe_split(tree, step.node, names)
        yes_is_left = split.yes == tree.left[step.node]
        value = value_text(step.value) if yes_is_left else "yes" if step.value else "no"
        rows.append(
            [
                Field(split.condition),
                Field(value),
                share_field(step.share),
                share_field(step.left if yes_is_left else 1 - step.left),
                signed_field(float(step.contribution[label]), places),
            ]
        )
    predicted = names.classes[label] if names.classes else TARGET
    legend = (
        "Share of the row: part of the row that reaches the split. Share to yes: part of that "
        f"which goes to yes. Contribution: to the prediction of {predicted}."
    )
    return TableBlock(columns, rows, "Splits on the decision path", legend)
