"""The noise experiment of the inner ensembles paper (section 4): it has words, no figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from ensemblage.evaluation import nmi_score
from ensemblage.papers._paper_rows import (
    best_of,
    by_repeat,
    complete_scores,
    failed,
    gain_sentence,
    grouped,
    mean_rows,
)
from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    read_printed,
)
from ensemblage.papers.inner._inner_clusters import (
    CONSENSUS,
    CONSENSUS_NAMES,
    Ensembles,
    StartParams,
    Views,
    add_noise,
    consensus_blocks,
    consensus_key,
    consensus_scores,
    inner_labels,
    plain_labels,
    standardise,
    starts_of,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

COLUMNS = {
    "kmeans": "K-means",
    "inner": "inner ensemble",
    "graph": "graph-based",
    "linkage": "linkage",
}
SCALINGS = {False: "raw", True: "standardised"}
INNER_VIEWS, MAX_ITER = Views(50, 0.5), 50
CONSENSUS_SIZE, CONSENSUS_VIEW = 20, 0.5


class NoiseParams(StartParams, frozen=True, omit_defaults=True, kw_only=True):
    """One method at one share of noise, on raw or scaled features."""

    method: str
    noise: float
    scaled: bool


class NoiseCounts(NamedTuple):
    """Shares of noise, and starts; the graph-based methods cost most."""

    noise: tuple[float, ...]
    starts: int
    graph_starts: int


LEVELS = (0.0, 0.2, 0.4, 0.6)


@paper_table("inner-noise")
class InnerNoise(PaperTable[NoiseCounts]):
    """Starts of five sets with and without noise; of the 15 sets of Table 2 at four levels."""

    scales = Scales(
        NoiseCounts((0.0, 0.4), 4, 1), NoiseCounts(LEVELS, 10, 2), NoiseCounts(LEVELS, 30, 30)
    )
    quick_datasets = ("ecoli", "iris", "segment", "vehicle", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Those of Table 2."""
        return tuple(read_printed("inner-table2").rows)

    def grid(self, scope: PaperScope) -> Iterator[NoiseParams]:
        """Datasets first; the slow graph-based methods last."""
        counts = self.scale_of(scope)
        for name, noise, scaled in product(scope.datasets, counts.noise, SCALINGS):
            params = partial(NoiseParams, dataset=name, noise=noise, scaled=scaled, seed=scope.seed)
            for method in ("kmeans", "inner", "linkage"):
                yield params(method=method, first=0, starts=counts.starts)
            for first, starts in consensus_blocks(counts.graph_starts):
                yield params(method="graph", first=first, starts=starts)

    @staticmethod
    @paper_cell(NoiseParams)
    def compute(params: NoiseParams, data_dir: str | None) -> dict[str, list[float]]:
        """Score one method by NMI from each start."""
        starts = [add_noise(start, params.noise) for start in starts_of(params, data_dir)]
        if params.scaled:
            starts = [standardise(start) for start in starts]
        if params.method in CONSENSUS:
            ensembles = Ensembles((CONSENSUS_SIZE,), CONSENSUS_VIEW)
            return consensus_scores([params.method], starts, ensembles, {"nmi": nmi_score})
        if params.method == "kmeans":
            labels = [plain_labels(start) for start in starts]
        else:
            labels = [inner_labels(start, INNER_VIEWS, MAX_ITER) for start in starts]
        return {"nmi": [nmi_score(s.y, each) for s, each in zip(starts, labels, strict=True)]}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Average over the starts; compare over the datasets; once for each scaling."""
        groups = grouped(results, "scaled", "noise", "dataset", "method")
        tables = []
        for scaled, words in SCALINGS.items():
            rows: list[ResultRow] = []
            summary: list[str] = []
            for noise in self.scale_of(scope).noise:
                level = [
                    self._entry(name, noise, method, groups.get((scaled, noise, name, method), []))
                    for name, method in product(scope.datasets, COLUMNS)
                ]
                means = mean_rows(level, tuple(COLUMNS.values()), f"mean, {noise:.0%} noise")
                rows += [*level, *means]
                summary += _sentences(level, noise)
            tables.append(
                ResultTable(
                    f"{self.name}-{words}", f"{self.printed.title}, {words} features",
                    "normalised mutual information", rows, summary,
                    (*self.printed.notes, *scope.missing_notes), greater_is_better=True,
                    ranked=False,
                )
            )  # fmt: skip
        return tables

    def _entry(
        self, name: str, noise: float, method: str, found: Sequence[CellResult]
    ) -> ResultRow:
        """Of a group of cluster ensembles, the best."""
        names = CONSENSUS_NAMES.get(method, ())
        keys = [consensus_key("nmi", each, CONSENSUS_SIZE) for each in names] or ["nmi"]
        known = [values for values in (by_repeat(found, key) for key in keys) if values]
        row = f"{name}, {noise:.0%} noise"
        return self.entry(row, COLUMNS[method], best_of(known), failed(found))


def _sentences(level: Sequence[ResultRow], noise: float) -> list[str]:
    """Say what the inner ensemble gains over each of the others."""
    sentences = []
    for method in ("kmeans", "graph", "linkage"):
        columns = (COLUMNS[method], COLUMNS["inner"])
        gains = np.diff(complete_scores(level, columns).scores, axis=1)[:, 0]
        title = f"{noise:.0%} noise: {columns[1]}"
        sentences += gain_sentence(title, columns[0], list(gains), 3)
    return sentences
