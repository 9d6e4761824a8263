"""How Inner K-means samples: sizes, replacement, and views of features or rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import msgspec
import numpy as np

from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    read_printed,
)
from ensemblage.papers._summaries import (
    Repeats,
    by_repeat,
    closeness,
    entry,
    failed,
    gain_sentence,
    grouped,
    mean_rows,
    paired_gain,
)
from ensemblage.papers.inner._clusters import (
    IMPROVED,
    MAX_ITER,
    MEASURES,
    StartParams,
    Views,
    inner_labels,
    plain_labels,
    starts_of,
)
from ensemblage.papers.inner._networks import MODES, SettingValues, range_rows, share_row
from ensemblage.studies import CellResult, ResultRow, ResultTable

BLOCK = 10
"""Starts per cell."""
ROW_VIEWS = 50
"""Views of rows, which are slow: a single ensemble size."""
PRINTED = {"nmi": "inner-table2", "purity": "inner-table3"}
TITLES = {"nmi": "normalised mutual information", "purity": "purity"}


class SamplingParams(StartParams, frozen=True, omit_defaults=True, kw_only=True):
    """One way of sampling with several ensemble sizes; K-means has none."""

    method: str
    sizes: tuple[int, ...] = ()
    view_size: float | None = None
    replace: bool | None = None


class SamplingGrid(NamedTuple):
    """Ensemble sizes and sample sizes, sample sizes of the views of rows, and blocks of starts."""

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    row_shares: tuple[float, ...]
    n_blocks: int


SIZES = tuple(range(10, 101, 10))
SHARES = tuple(share / 10 for share in range(1, 11))


@paper_table("inner-sampling")
class InnerSampling(PaperTable[SamplingGrid]):
    """The paper's grid with and without replacement; views of rows at one ensemble size.

    The full scale is the paper's: ten ensemble sizes and 30 starts. The standard one has three, and
    ten of these starts.
    """

    scales = Scales(
        SamplingGrid((10,), (0.5, 0.9), (0.5,), 1),
        SamplingGrid((10, 50, 100), SHARES, (0.1, 0.5, 0.9), 1),
        SamplingGrid(SIZES, SHARES, SHARES, 3),
    )
    quick_datasets = ("ecoli", "iris", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(read_printed("inner-table2").rows)

    def grid(self, scope: PaperScope) -> Iterator[SamplingParams]:
        """Blocks of starts first."""
        grid = self.scale_of(scope)
        for block, name in product(range(grid.n_blocks), scope.datasets):
            params = partial(
                SamplingParams, dataset=name, first=BLOCK * block, starts=BLOCK, seed=scope.seed
            )
            yield params(method="kmeans")
            for method, sizes, shares in (
                ("features", grid.sizes, grid.shares),
                ("rows", (ROW_VIEWS,), grid.row_shares),
            ):
                for replace, share in product(MODES, shares):
                    yield params(method=method, sizes=sizes, view_size=share, replace=replace)

    @staticmethod
    @paper_cell(SamplingParams)
    def compute(params: SamplingParams, data_dir: str | None) -> dict[str, list[float]]:
        """Score every start; keys are such as "nmi" for K-means, and "nmi:20" for 20 views."""
        starts = starts_of(params, data_dir)
        if params.view_size is None:
            found = {"": [plain_labels(start) for start in starts]}
        else:
            options = {"view_of": params.method, "replace": bool(params.replace)}
            found = {
                f":{size}": [
                    inner_labels(start, (size, params.view_size), MAX_ITER, **options)
                    for start in starts
                ]
                for size in params.sizes
            }
        return {
            f"{measure}{key}": [
                score(start.y, each) for start, each in zip(starts, labels, strict=True)
            ]
            for key, labels in found.items()
            for measure, score in MEASURES.items()
        }

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Ranges and shares of the settings that improve on K-means, and gains by setting."""
        found = SamplingResults(results, self.scale_of(scope))
        tables = []
        for measure in MEASURES:
            ranges, shares = [], []
            for name in scope.datasets:
                printed, plain = read_printed(PRINTED[measure]), found.plain(name, measure)
                settings = found.settings(name, measure, replace=True)
                ranges += range_rows(printed, name, settings, plain)
                for replace, title in MODES.items():
                    inner = SettingValues(
                        list(found.settings(name, measure, replace).values()),
                        found.failures(name, replace),
                    )
                    paper = printed.value(name, IMPROVED) if replace else None
                    shares.append(share_row(name, title, inner, plain, paper))
            means = [
                msgspec.structs.replace(
                    row, paper=self.printed.value("mean", f"{measure}, {row.column}")
                )
                for row in mean_rows(shares, tuple(MODES.values()))
            ]
            tables += [
                self._table(
                    f"{measure}-improved", f"Settings that beat K-means, {TITLES[measure]}",
                    "share of settings (%)", [*shares, *means], closeness(shares, 0),
                    scope,
                ),
                self._table(
                    f"{measure}-range",
                    f"Range of the settings that beat K-means, {TITLES[measure]}",
                    "smallest and largest size", ranges, [], scope,
                ),
            ]  # fmt: skip
        tables += [self._grid_table(found, scope, replace) for replace in MODES]
        return [*tables, self._row_table(found, scope)]

    def _table(
        self,
        stem: str,
        title: str,
        measure: str,
        rows: Sequence[ResultRow],
        summary: Sequence[str],
        scope: PaperScope,
    ) -> ResultTable:
        notes = (*self.printed.notes, *scope.missing_notes)
        return ResultTable(
            f"{self.name}-{stem}", title, measure, list(rows), list(summary), notes, ranked=False
        )

    def _grid_table(self, found: SamplingResults, scope: PaperScope, replace: bool) -> ResultTable:
        """Gain in NMI over K-means by ensemble size and sample size."""
        rows: list[ResultRow] = []
        by_dataset: dict[str, list[float]] = {name: [] for name in scope.datasets}
        grid = self.scale_of(scope)
        for share, size in product(grid.shares, grid.sizes):
            gains = found.gains(scope.datasets, (size, share), "features", replace)
            for name, gain in gains.items():
                by_dataset[name].append(gain)
            failures = sum(found.failures(name, replace, share) for name in scope.datasets)
            rows.append(
                entry(
                    f"{share:.0%} of the features", f"{size} views", gains.values(),
                    failures=failures,
                )
            )  # fmt: skip
        mode = MODES[replace]
        means = [float(np.mean(gains)) for gains in by_dataset.values() if gains]
        return self._table(
            f"grid-{mode.replace(' ', '-')}", f"Sensitivity, sampling {mode}",
            "gain in NMI over K-means from the same starts", rows,
            gain_sentence(f"Mean over all settings {mode}", "K-means", means, 3), scope,
        )  # fmt: skip

    def _row_table(self, found: SamplingResults, scope: PaperScope) -> ResultTable:
        """Gain of views of rows beside views of as many features."""
        rows: list[ResultRow] = []
        summary: list[str] = []
        grid = self.scale_of(scope)
        size = ROW_VIEWS if ROW_VIEWS in grid.sizes else grid.sizes[0]
        for method, n_views in (("features", size), ("rows", ROW_VIEWS)):
            for replace, mode in MODES.items():
                title, means = f"views of {method}, {mode}", dict[str, list[float]]()
                for share in grid.row_shares:
                    gains = found.gains(scope.datasets, (n_views, share), method, replace)
                    failures = sum(
                        found.failures(name, replace, share, method) for name in scope.datasets
                    )
                    rows.append(entry(f"{share:.0%}", title, gains.values(), failures=failures))
                    for name, gain in gains.items():
                        means.setdefault(name, []).append(gain)
                values = [float(np.mean(gains)) for gains in means.values()]
                summary += gain_sentence(title, "K-means", values, 3)
        measure = "gain in NMI over K-means from the same starts"
        return self._table("rows", "Views of features and of rows", measure, rows, summary, scope)


class SamplingResults:
    """Results by dataset, method, replacement and sample size."""

    def __init__(self, results: Sequence[CellResult], grid: SamplingGrid) -> None:
        self.grid = grid
        self._groups = grouped(results, "dataset", "method", "replace", "view_size")

    def plain(self, name: str, measure: str) -> Repeats:
        return by_repeat(self._groups.get((name, "kmeans", None, None), []), measure)

    def settings(self, name: str, measure: str, replace: bool) -> dict[Views, Repeats]:
        """Scores of each setting of views of features that has any."""
        found = {
            (size, share): self._values(name, measure, "features", replace, (size, share))
            for share, size in product(self.grid.shares, self.grid.sizes)
        }
        return {setting: values for setting, values in found.items() if values}

    def gains(
        self, names: Sequence[str], setting: Views, method: str, replace: bool
    ) -> Mapping[str, float]:
        """Gain in NMI over K-means of each dataset with results."""
        gains = {
            name: paired_gain(
                self._values(name, "nmi", method, replace, setting), self.plain(name, "nmi")
            )
            for name in names
        }
        return {name: gain for name, gain in gains.items() if gain is not None}

    def failures(
        self, name: str, replace: bool, share: float | None = None, method: str = "features"
    ) -> int:
        shares = self.grid.shares if share is None else (share,)
        return sum(failed(self._groups.get((name, method, replace, each), [])) for each in shares)

    def _values(
        self, name: str, measure: str, method: str, replace: bool, setting: Views
    ) -> Repeats:
        size, share = setting
        return by_repeat(self._groups.get((name, method, replace, share), []), f"{measure}:{size}")
