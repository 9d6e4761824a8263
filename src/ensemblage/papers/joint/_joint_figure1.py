"""Figure 1 of the joint feature-subset paper: the quarter circle, ever more rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ensemblage.datasets import make_quarter_circle
from ensemblage.papers._paper_rows import grouped
from ensemblage.papers._paper_table import PaperScope, Scales, paper_cell, paper_table, repeat_seed
from ensemblage.papers.joint._joint_literal import (
    LiteralTable,
    Parts,
    Rows,
    Settings,
    literal_scores,
)
from ensemblage.runs import CellResult, ResultTable

SIZES = (10, 20, 50, 100, 200, 500)
ROWS = {f"{size} per class": size for size in SIZES}
TEST_ROWS, TEST_SEED = 50_000, 10**6
SETTINGS = Settings(0.1, 1e-4)


class CircleParams(msgspec.Struct, frozen=True):
    """One training set."""

    rows_per_class: int
    repeat: int
    seed: int


class CircleCounts(NamedTuple):
    """Rows per class of the training sets, and how many sets of each size."""

    sizes: tuple[int, ...]
    repeats: int


@lru_cache(maxsize=1)
def _test_rows() -> Rows:
    return Rows(*make_quarter_circle(TEST_ROWS, random_state=TEST_SEED))


@paper_table("joint-figure1")
class JointFigure1(LiteralTable[CircleCounts]):
    """Ten datasets of two sizes; 25 of six; or, as in the paper, 100 of each."""

    scales = Scales(CircleCounts((20, 100), 10), CircleCounts(SIZES, 25), CircleCounts(SIZES, 100))
    accuracy_title = "Joint feature subsets on the quarter circle: the base and a tuned baseline"
    ranked = False  # one circle in several sizes

    def datasets(self, scale: str) -> tuple[str, ...]:
        """One per size."""
        sizes = self.scales.at(scale).sizes
        return tuple(row for row, size in ROWS.items() if size in sizes)

    def generated(self, scale: str) -> tuple[str, ...]:
        """All, as in the paper."""
        return self.datasets(scale)

    def grid(self, scope: PaperScope) -> Iterator[CircleParams]:
        """Repeats first."""
        for repeat in range(self.scale_of(scope).repeats):
            for row in scope.datasets:
                yield CircleParams(ROWS[row], repeat, scope.seed)

    @staticmethod
    @paper_cell(CircleParams)
    def compute(params: CircleParams, data_dir: str | None) -> dict[str, float]:  # noqa: ARG004
        """Accuracies in per cent of the ensembles of one training set."""
        seed = repeat_seed(params.seed, params.repeat)
        train = Rows(*make_quarter_circle(params.rows_per_class, random_state=seed))
        return literal_scores(Parts(train, train, _test_rows()), SETTINGS, seed)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Average the gains by size."""
        groups = grouped(results, "rows_per_class")
        found = {row: groups.get((ROWS[row],), []) for row in scope.datasets}
        return self.gain_tables(found, scope)
