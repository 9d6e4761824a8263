"""Inner trees described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count,
    final_step,
    rows_at_final_step,
    share_field,
    signed_field,
    write_number,
)
from ensemblage.evaluation import MEASURES
from ensemblage.inner import (
    BaseInnerTree,
    TreeDisplay,
    TreeNode,
    TreePath,
    TreeWords,
    as_text,
    asked,
    outline,
    tree_words,
)
from ensemblage.report._blocks import Section, TreeBlock
from ensemblage.report._contributions import (
    NUMBER,
    Decision,
    RowDecision,
    by_column,
    contributions_of,
    row_section,
    row_text,
    value_text,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelPage,
    Subject,
    feature_categories_of,
    feature_names,
    feature_origins,
    saved_picture,
)

MOST_TOLD = 3
CAPTION = (
    "Follow the answers down to a leaf. A grey mark is a split on which the crowd's thresholds "
    "differ: a row between the least and the greatest goes both ways, by the share of them. Rows "
    "are those of the training, counted by these shares."
)


class TreeNodeDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node of a tree; a leaf has no column."""

    values: Annotated[
        list[float], Meta(description="Shares of the classes, or the number; shrunk.")
    ]
    rows: Annotated[float, Meta(ge=0, description="Weight of the training rows in it.")]
    column: str | None = None
    threshold: Annotated[float | None, Meta(description="Median of the crowd's.")] = None
    low: Annotated[float | None, Meta(description="Least of the crowd's.")] = None
    high: Annotated[float | None, Meta(description="Greatest of the crowd's.")] = None
    missing: Annotated[str | None, Meta(description="Where a missing value goes.")] = None
    yes: Annotated[int | None, Meta(description="Node of values up to the threshold.")] = None
    no: Annotated[int | None, Meta(description="Node of values above it.")] = None


class TreeDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tree, the root first."""

    classes: list[str]
    shrinkage: Annotated[float, Meta(description="Strength by which nodes are shrunk.")]
    nodes: list[TreeNodeDocument]


class TreeFacts(NamedTuple):
    """A fitted tree and its words; a row's path through it."""

    estimator: BaseInnerTree
    words: TreeWords
    nodes: list[TreeNode]
    path: TreePath | None = None


@dataclass(frozen=True)
class TreeExplanation(Explanation):
    """A tree in the names of the user's columns."""

    has = "a tree"
    documents = (TreeDocument,)

    facts: TreeFacts
    story: RowDecision | None = None

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise a tree of ours."""
        return isinstance(estimator, BaseInnerTree)

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Size of the tree, and the features that explain most."""
        leaves, depth = estimator.get_n_leaves(), estimator.get_depth()
        yield f"a tree of {count(leaves, 'leaf', 'leaves')}, {count(depth, 'split')} deep at most"
        names = _words(estimator, columns).columns
        shares = estimator.feature_importances_
        most = np.argsort(-shares, kind="stable")[:MOST_TOLD]
        told = [f"{names[j]} {shares[j]:.0%}" for j in most if shares[j] > 0]
        if told:
            yield f"of what its splits explain: {', '.join(told)}"

    @classmethod
    def of(cls, subject: Subject) -> TreeExplanation:
        """Read the nodes, and a row's path."""
        estimator = final_step(subject.model)
        columns = feature_names(subject.model, subject.columns)
        words = _words(estimator, columns, feature_categories_of(subject.model))
        facts = TreeFacts(estimator, words, outline(estimator.tree_, words))
        if subject.row is None:
            return cls(facts)
        path = estimator.explain(
            rows_at_final_step(subject.model, subject.X[subject.row : subject.row + 1])
        )
        return cls(facts._replace(path=path), tree_decision(subject, path))

    @property
    def document(self) -> TreeDocument | RowDecision:
        """The decision about the row if one was named, else the nodes."""
        return _document(self.facts) if self.story is None else self.story

    def text(self) -> list[str | TableBlock]:
        """Write the tree as indented lines, or tell a row's way."""
        if self.story is not None and self.facts.path is not None:
            way = way_table(self.facts, self.facts.path)
            return [*row_text(self.story), "", f"{way.caption}:", way, way.legend]
        return [*as_text(self.facts.estimator.tree_, self.facts.words).splitlines()]

    def page(self) -> ModelPage:
        """Show the drawing, and a row's way."""
        estimator = self.facts.estimator
        leaves, depth = estimator.get_n_leaves(), estimator.get_depth()
        size = f"A tree of {count(leaves, 'leaf', 'leaves')}, {count(depth, 'split')} deep at most"
        soft = sum(node.soft for node in self.facts.nodes)
        told = f"The crowd's thresholds differ at {soft} of {count(leaves - 1, 'split')}."
        sections = [Section("Tree", [self._figure(size)])]
        if self.story is not None and self.facts.path is not None:
            way = Section("Its way", [way_table(self.facts, self.facts.path)])
            sections = [row_section(self.story), way, *sections]
        facts = [("leaves", str(leaves)), ("depth", str(depth)),
                 ("shrinkage", f"{estimator.shrinkage_:g}")]  # fmt: skip
        return ModelPage([f"{size}.", told], facts, sections, complete=True)

    def draw(self, picture: str = "png") -> bytes:
        """Draw the outline."""
        display = TreeDisplay(self.facts.nodes, self.facts.words.classes).plot()
        return saved_picture(display, picture)

    def _figure(self, size: str) -> TreeBlock:
        first = as_text(self.facts.estimator.tree_, self.facts.words).splitlines()[0]
        alt = f"{size}. It starts with: {first}"
        return TreeBlock(self.facts.nodes, self.facts.words.classes, alt, CAPTION)


def _words(
    estimator: Any, columns: Sequence[str], categories: Sequence[str | None] = ()
) -> TreeWords:
    """Use names and categories of the table's columns if there is one for each."""
    known = len(columns) == estimator.n_features_in_
    words = tree_words(estimator, columns if known else ())
    return words._replace(categories=categories) if known and categories else words


def tree_decision(subject: Subject, path: TreePath) -> RowDecision:
    """Tell what the splits on each column add to what is predicted: exact.

    That is a number, or the probability of the predicted class.
    """
    estimator = final_step(subject.model)
    row = subject.row or 0
    classes = [str(each) for each in getattr(estimator, "classes_", ())]
    label = int(np.argmax(path.prediction))
    amounts = np.zeros(estimator.tree_.feature.max() + 1)
    for step in path.steps:
        amounts[estimator.tree_.feature[step.node]] += step.contribution[label]
    encoder = getattr(estimator, "encoder_", None)
    origins = feature_origins(subject.model, subject.columns)
    if encoder is not None and origins is not None:
        origins = [origins[k] for k in encoder.feature_columns_]
    decision = None
    if origins is not None:
        summed = by_column(amounts, origins[: len(amounts)], len(subject.columns))
        decision = Decision(
            label=classes[label] if classes else NUMBER,
            measure=f"{'probability' if classes else 'prediction'}; the start is that of all "
            "rows, and each column adds what the splits on it change on the row's way",
            base=float(path.start[label]),
            contributions=contributions_of(
                subject.columns, subject.values(row), summed, subject.kinds
            ),
            value=float(path.prediction[label]),
        )
    return RowDecision(
        row=row, prediction=classes[label] if classes else write_number(path.prediction[0], 6),
        classes=classes, scores=path.prediction.tolist() if classes else [], decision=decision,
    )  # fmt: skip


def way_table(facts: TreeFacts, path: TreePath) -> TableBlock:
    """List the splits on a row's way, and its share on each side."""
    tree, label = facts.estimator.tree_, int(np.argmax(path.prediction))
    speaks_for = facts.words.classes[label] if facts.words.classes else NUMBER
    columns = [
        Heading("split"), Heading("value"), Heading("of the row", numeric=True),
        Heading("to yes", numeric=True), Heading(f"for {speaks_for}", numeric=True),
    ]  # fmt: skip
    said = float(path.prediction[label])
    places = 3 if facts.words.classes else MEASURES["rmse"].places(said)
    rows = []
    for step in path.steps:
        split = asked(tree, step.node, facts.words)
        for_left = split.yes == tree.left[step.node]
        value = value_text(step.value) if for_left else "yes" if step.value else "no"
        rows.append(
            [
                Field(split.question),
                Field(value),
                share_field(step.share),
                share_field(step.left if for_left else 1 - step.left),
                signed_field(float(step.contribution[label]), places),
            ]
        )
    legend = "How much of the row comes to each split, and how much of that goes on to yes."
    return TableBlock(columns, rows, "The row's way through the tree", legend)


def _document(facts: TreeFacts) -> TreeDocument:
    tree, columns = facts.estimator.tree_, facts.words.columns
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
                values, rows, column=columns[tree.feature[node]],
                threshold=float(thresholds[middle]),
                low=float(thresholds[0]), high=float(thresholds[-1]),
                missing="yes" if tree.missing_left[node] else "no",
                yes=int(tree.left[node]), no=int(tree.right[node]),
            )
        )  # fmt: skip
    return TreeDocument(list(facts.words.classes), facts.estimator.shrinkage_, nodes)
