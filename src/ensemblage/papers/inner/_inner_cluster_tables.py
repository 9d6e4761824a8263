"""K-means with an inner ensemble on 15 datasets: the cells of Tables 2 and 3 of its paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from ensemblage.evaluation import nmi_score, purity_score, stability_score
from ensemblage.inner import InnerKMeans
from ensemblage.papers._paper_rows import grouped
from ensemblage.papers._paper_table import PaperScope, PaperTable, Scales, paper_cell, paper_table
from ensemblage.papers.inner._inner_cluster_rows import (
    ClusterMeasure,
    ClusterResults,
    cluster_tables,
)
from ensemblage.papers.inner._inner_clusters import (
    CONSENSUS,
    Array,
    Ensembles,
    Score,
    Start,
    StartParams,
    Views,
    consensus_blocks,
    consensus_scores,
    inner_labels,
    plain_labels,
    starts_of,
)
from ensemblage.runs import CellResult, ResultTable

MEASURES: dict[str, Score] = {"nmi": nmi_score, "purity": purity_score}
MAX_ITER = 30


class ClusterParams(StartParams, frozen=True, omit_defaults=True, kw_only=True):
    """One method with one setting; K-means has none, and only the inner ensemble's is judged.

    The cluster ensembles of all ``sizes`` are prefixes of one, and share a cell.
    """

    method: str
    n_views: int | None = None
    view_size: float | None = None
    stability_starts: int | None = None
    sizes: tuple[int, ...] = ()


class ClusterGrid(NamedTuple):
    """Settings from so many starts; the cluster ensembles cost most and have fewer of both."""

    settings: tuple[Views, ...]
    starts: int
    ensembles: tuple[Ensembles, ...]
    consensus_starts: int
    stability_starts: int


def _views(sizes: Sequence[int], shares: Sequence[float]) -> tuple[Views, ...]:
    return tuple(Views(*setting) for setting in product(sizes, shares))


def _ensembles(sizes: Sequence[int], shares: Sequence[float]) -> tuple[Ensembles, ...]:
    return tuple(Ensembles(tuple(sizes), share) for share in shares)


QUICK = ClusterGrid(_views([10], [0.5, 0.9]), 10, _ensembles([10], [0.5]), 2, stability_starts=4)
STANDARD = ClusterGrid(
    _views([10, 50, 100], [0.1, 0.3, 0.5, 0.7, 0.9]), 30, _ensembles([20], [0.3, 0.5, 0.7]), 5,
    stability_starts=8,
)  # fmt: skip
SIZES, SHARES = range(10, 101, 10), [share / 10 for share in range(1, 11)]
FULL = ClusterGrid(_views(SIZES, SHARES), 30, _ensembles(SIZES, SHARES), 30, stability_starts=8)


class ClusterTable(PaperTable[ClusterGrid]):
    """One measure of the clusterings: the tables have the same cells."""

    scales = Scales(QUICK, STANDARD, FULL)
    family = "inner-clusters"
    measure: ClusterMeasure

    def grid(self, scope: PaperScope) -> Iterator[ClusterParams]:
        """Datasets first; the slow cluster ensembles last."""
        grid = self.scale_of(scope)
        blocks = consensus_blocks(grid.consensus_starts)
        for name in scope.datasets:
            params = partial(ClusterParams, dataset=name, seed=scope.seed)
            yield params(method="kmeans", first=0, starts=grid.starts)
            for n_views, view_size in grid.settings:
                yield params(
                    method="inner", n_views=n_views, view_size=view_size, first=0,
                    starts=grid.starts, stability_starts=grid.stability_starts,
                )  # fmt: skip
            for ensembles, block in product(grid.ensembles, blocks):
                yield params(method="consensus", **ensembles._asdict(), **block._asdict())

    @staticmethod
    @paper_cell(ClusterParams)
    def compute(params: ClusterParams, data_dir: str | None) -> dict[str, Any]:
        """Score one method from each start; the ``stability`` of a setting needs no classes."""
        starts = starts_of(params, data_dir)
        if params.view_size is None:
            return _scores(starts, [plain_labels(start) for start in starts])
        if params.n_views is None or params.stability_starts is None:
            ensembles = Ensembles(params.sizes, params.view_size)
            return consensus_scores(list(CONSENSUS), starts, ensembles, MEASURES)
        views = Views(params.n_views, params.view_size)
        values = _scores(starts, [inner_labels(start, views, MAX_ITER) for start in starts])
        return {**values, "stability": _stability(starts[0], views, params.stability_starts)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Put the scores beside the paper's."""
        groups = grouped(results, "dataset", "method", "n_views", "view_size")
        grid = self.scale_of(scope)
        found = ClusterResults(groups, self.measure, grid.settings, grid.ensembles)
        return cluster_tables(self, found, scope)


def _scores(starts: Sequence[Start], labels: Sequence[Array]) -> dict[str, list[float]]:
    pairs = list(zip(starts, labels, strict=True))
    return {
        measure: [score(start.y, each) for start, each in pairs]
        for measure, score in MEASURES.items()
    }


def _stability(start: Start, views: Views, n_starts: int) -> float:
    model = InnerKMeans(
        len(start.centers), n_views=views.n_views, view_size=views.view_size, schedule="paper",
        init="random", n_init=1, max_iter=MAX_ITER,
    )  # fmt: skip
    return float(stability_score(model, start.X, n_starts=n_starts, random_state=start.seed))


@paper_table("inner-table2")
class InnerTable2(ClusterTable):
    """Clusterings by their normalised mutual information with the classes."""

    measure = ClusterMeasure("nmi", "normalised mutual information")


@paper_table("inner-table3")
class InnerTable3(ClusterTable):
    """Clusterings by their purity in the classes."""

    measure = ClusterMeasure("purity", "purity")
