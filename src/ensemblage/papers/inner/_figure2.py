"""Figure 2 of the inner ensembles paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
    read_printed,
)
from ensemblage.papers._summaries import failed, grouped
from ensemblage.papers.inner._networks import as_frame, declare_classes, paper_model
from ensemblage.studies import CellResult, ResultTable

COLUMNS = {
    "inner": "inner score, one network",
    "pooled": "inner score, pooled tables (ours)",
    "bagging": "bagging",
}
VIEW_SIZE = 0.3
"""Share of the rows in each view."""


class TimeParams(msgspec.Struct, frozen=True):
    """One model on one dataset."""

    dataset: str
    method: str
    n_views: int
    best_of: int
    seed: int


@paper_table("inner-figure2")
class InnerFigure2(PaperTable[tuple[tuple[int, ...], int]]):
    """Two ensemble sizes, four, or ten as in the paper, on the datasets of Table 1.

    A scale has the ensemble sizes, and the number of timed runs.
    """

    scales = Scales(((10, 50), 3), ((10, 40, 70, 100), 5), (tuple(range(10, 101, 10)), 20))

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(read_printed("inner-table1").rows)

    def grid(self, scope: PaperScope) -> Iterator[TimeParams]:
        """Datasets first."""
        sizes, best_of = self.scale_of(scope)
        for name, size, method in product(scope.datasets, sizes, COLUMNS):
            yield TimeParams(name, method, size, best_of, scope.seed)

    @staticmethod
    @paper_cell(TimeParams)
    def compute(params: TimeParams, data_dir: str | None) -> dict[str, float]:
        X, y = as_frame(paper_dataset(params.dataset, data_dir))
        sampled = {} if params.method == "bagging" else {"view_size": VIEW_SIZE, "replace": False}
        model = paper_model(params.method, params.seed, n_views=params.n_views, **sampled)
        # the first call may compile or cache; it is not timed
        declare_classes(model, y).fit(X, y).predict(X)
        seconds = []
        for _ in range(params.best_of):
            start = time.perf_counter()
            model.predict(X)
            seconds.append(time.perf_counter() - start)
        return {"milliseconds": 1000.0 * min(seconds), "rows": len(y)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "method", "n_views")
        sizes, _ = self.scale_of(scope)
        rows, means = [], {}
        for size, (method, title) in product(sizes, COLUMNS.items()):
            found = groups.get((method, size), [])
            times: list[Any] = [r.values["milliseconds"] for r in found if not r.error]
            rows.append(self.entry(f"ensemble size {size}", title, times, failed(found)))
            means[method, size] = rows[-1].ours
        return [
            ResultTable(
                self.name, self.printed.title, "prediction time (ms)", rows,
                _sentences(means, sizes), (*self.printed.notes, *scope.missing_notes),
                greater_is_better=False, ranked=False,
            )
        ]  # fmt: skip


def _sentences(means: Mapping[tuple[str, int], float | None], sizes: Sequence[int]) -> list[str]:
    small, large = sizes[0], sizes[-1]
    sentences = []
    for method, title in COLUMNS.items():
        first, last = means[method, small], means[method, large]
        if first is not None and last is not None:
            sentences.append(
                f"{title}: {first:.2f} ms with {small}, {last:.2f} ms with {large}: "
                f"{last / first:.1f} times as long."
            )
    inner, bagging = means["inner", large], means["bagging", large]
    if inner is not None and bagging is not None:
        ratio = f"{bagging / inner:.0f} times as long as one network"
        sentences.append(f"Bagging of {large} takes {ratio}.")
    return sentences
