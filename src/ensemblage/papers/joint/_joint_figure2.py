"""Figure 2 of the joint feature-subset paper: two true features among six dummies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import make_quarter_circle
from ensemblage.papers._paper_rows import by_repeat, failed, grouped, mean_of
from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.runs import CellResult, ResultTable
from ensemblage.subspace import JointSubspaceSelector

N_DUMMIES = 6
N_MEMBERS = 10
# Seeds on which nothing was tuned.
FRESH_SEEDS = 1000
VARIANTS: dict[str, dict[str, Any]] = {
    "selector": {},
    "literal": {"solver": "paper", "flip_probability": 0.01, "size_penalty": 0.0},
}
COLUMNS = {
    "pair": "true pair is the most frequent pair",
    "single": "true features are the two most frequent",
    "both": "both, as in the figure",
    "score": "selector's two best are the true ones",
}


class Search(NamedTuple):
    """What a row of the table is about."""

    rows_per_class: int
    variant: str


ROWS = {
    f"{size} per class, {variant}": Search(size, variant)
    for variant, size in product(VARIANTS, (20, 100))
}


class SearchParams(msgspec.Struct, frozen=True):
    """One variant on one dataset."""

    rows_per_class: int
    variant: str
    repeat: int
    seed: int


def true_pair(X: NDArray[Any], y: NDArray[Any], seed: int, **parameters: Any) -> dict[str, float]:
    """Tell whether the first two columns are found after the columns were mixed: 100 or 0.

    The parameters are those of :class:`JointSubspaceSelector`.
    """
    order = np.random.default_rng(seed).permutation(X.shape[1])
    parameters = {"n_estimators": N_MEMBERS, "random_state": seed, **parameters}
    selector = JointSubspaceSelector(2, **parameters).fit(X[:, order], y)
    true = np.flatnonzero(order < 2)
    pairs = np.triu(np.ones_like(selector.co_selection_, dtype=bool), 1)
    pairs[true[0], true[1]] = False
    pair = selector.co_selection_[true[0], true[1]] > selector.co_selection_[pairs].max()
    single = selector.frequencies_[true].min() > np.delete(selector.frequencies_, true).max()
    score = selector.support_[true].all()
    found = {"pair": pair, "single": single, "both": pair and single, "score": score}
    return {name: 100.0 * bool(value) for name, value in found.items()}


@paper_table("joint-figure2")
class JointFigure2(PaperTable[int]):
    """How often the figure's picture comes out: 20, 100 or 100 datasets per size and variant."""

    scales = Scales(20, 100, 100)

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Sizes by variants."""
        return tuple(ROWS)

    def generated(self, scale: str) -> tuple[str, ...]:
        """All, as in the paper."""
        return self.datasets(scale)

    def grid(self, scope: PaperScope) -> Iterator[SearchParams]:
        """Repeats first."""
        for repeat in range(self.scale_of(scope)):
            for row in scope.datasets:
                yield SearchParams(*ROWS[row], repeat, scope.seed)

    @staticmethod
    @paper_cell(SearchParams)
    def compute(params: SearchParams, data_dir: str | None) -> dict[str, float]:  # noqa: ARG004
        """Look for the pair in one dataset: 100 if found, else 0."""
        seed = FRESH_SEEDS + repeat_seed(params.seed, params.repeat)
        X, y = make_quarter_circle(params.rows_per_class, n_dummies=N_DUMMIES, random_state=seed)
        return true_pair(X, y, seed, **VARIANTS[params.variant])

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Count the runs in which the figure's picture comes out."""
        groups = grouped(results, "rows_per_class", "variant")
        rows, summary = [], []
        for row in scope.datasets:
            found = groups.get(ROWS[row], [])
            rows += [
                self.entry(row, title, by_repeat(found, key), failed(found))
                for key, title in COLUMNS.items()
            ]
            both = by_repeat(found, "both")
            if both:
                share = f"{mean_of(both):.0f} % of {len(both)} datasets"
                summary.append(f"{row}: the figure comes out in {share}.")
        return [
            ResultTable(
                self.name, self.printed.title, "share of datasets (%)", rows, summary,
                self.printed.notes, greater_is_better=True, ranked=False,
            )
        ]  # fmt: skip
