"""A study of our own: what to do where sources are known, and what to expect of new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ensemblage.papers._paper_rows import by_repeat, failed, grouped, mean_rows
from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.papers.sources._known_source_methods import CAREFUL, METHODS
from ensemblage.papers.sources._source_scores import LABELLED, known_scores, new_scores
from ensemblage.papers.sources._source_sentences import (
    held_sentence,
    loss_sentences,
    promise_sentences,
    recalibration_sentences,
)
from ensemblage.papers.sources._source_sets import known_task, set_print, source_set
from ensemblage.runs import CellResult, ResultRow, ResultTable

SETS = ("heart", "promise", "student", "wine")
N_SOURCES = {"heart": 4, "promise": 9, "student": 2, "wine": 2}
PICK = "careful pick"
COLUMNS = {
    "pool-with-sources": "pool with sources",
    "partial-pooling": "partial pooling",
    "pooled": "regression without source",
    "one-hot": "regression with source",
    "one-per-source": "one regression per source",
    "interactions": "regression with interactions",
    "lightgbm-with-source": "LightGBM with source",
    "lightgbm-without-source": "LightGBM without source",
    "forest-with-source": "forest with source",
    "source-strata": "source strata, source not told",
}
MODELS = {"boosting": "gradient boosting", "logistic": "logistic regression"}


class SourcesParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method and one split, or one model and the source that is left out, as the repeat."""

    part: str
    dataset: str
    method: str
    repeat: int
    seed: int


class _Column(NamedTuple):
    """A column of a table on new sources: its head, and its value in a cell's."""

    head: str
    value: Callable[[Mapping[str, Any]], float | None]


def _just(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda values: values.get(name)


def _change(n_rows: int) -> Callable[[Mapping[str, Any]], float | None]:
    """Change of the log loss in per cent; a source may have too few rows to tell."""

    def change(values: Mapping[str, Any]) -> float | None:
        before = values.get(f"before_{n_rows}")
        return None if before is None else 100 * (values[f"after_{n_rows}"] / before - 1)

    return change


NEW = (
    _Column("ordinary folds promise", _just("ordinary")),
    _Column("leave-sources-out promises", _just("left_out")),
    _Column("truth", _just("truth")),
    _Column("bound for nine in ten", _just("bound")),
    _Column("share below the bound", _just("held")),
)
ADAPTED = tuple(_Column(f"{n_rows} rows", _change(n_rows)) for n_rows in LABELLED)
COVERED = (
    _Column("sets by ordinary folds", _just("covered_ordinary")),
    _Column("sets by leave-sources-out", _just("covered_left_out")),
)
NOVEL = (_Column("by a row's distance", _just("novelty")),)


@paper_table("sources")
class SourcesStudy(PaperTable[int]):
    """Splits of known sources: one, five, ten. Each source is left out once."""

    scales = Scales(1, 5, 10)
    quick_datasets = ("heart",)

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Four tables."""
        return SETS

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        """Know a table by its file."""
        return set_print(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[SourcesParams]:
        """Begin with new sources, then splits of known ones: a stopped run has all tables."""
        for name, method in product(scope.datasets, MODELS):
            for source in range(N_SOURCES[name]):
                yield SourcesParams(
                    part="new", dataset=name, method=method, repeat=source, seed=scope.seed
                )
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            for method in METHODS:
                yield SourcesParams(
                    part="known", dataset=name, method=method, repeat=repeat, seed=scope.seed
                )

    @staticmethod
    @paper_cell(SourcesParams)
    def compute(params: SourcesParams, data_dir: str | None) -> Mapping[str, Any]:
        """Score one method on one split, or on the source that it has not seen."""
        found = source_set(params.dataset, data_dir)
        if params.part == "new":
            return new_scores(params.method, found, params.repeat, params.seed)
        task = known_task(found, repeat_seed(params.seed, params.repeat))
        return known_scores(params.method, task)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Give known sources by four measures, then new ones."""
        sheet = _Sheet(self, results, scope)
        return [
            sheet.known("log-loss", "log loss", "log_loss"),
            sheet.known("error", "error", "error"),
            sheet.known("worst", "error in the worst source", "worst"),
            sheet.known("gap", "gap of rates, source by source", "gap"),
            sheet.new("new", "error on a new source", NEW),
            sheet.new("recalibration", "change of log loss (%)", ADAPTED),
            sheet.new("coverage", "rows of a new source whose class is in its set", COVERED, True),
            sheet.new("novelty", "telling rows of a new source (area under ROC)", NOVEL),
        ]


class _Sheet:
    """Tables of one measure each, from the same results."""

    def __init__(
        self, table: SourcesStudy, results: Sequence[CellResult], scope: PaperScope
    ) -> None:
        self.paper, self.scope = table, scope
        self.groups = grouped(results, "part", "dataset", "method")

    def known(self, stem: str, measure: str, value: str) -> ResultTable:
        """Average splits; the careful pick is made in each of them."""
        rows = []
        for name in self.scope.datasets:
            for method in METHODS:
                found = self.groups.get(("known", name, method), [])
                values = by_repeat(found, value)
                rows.append(self.paper.entry(name, COLUMNS[method], values, failed(found)))
            rows.append(self.paper.entry(name, PICK, self._picked(name, value)))
        return self._table(stem, measure, rows, loss_sentences(rows, measure, PICK), better=False)

    def _picked(self, name: str, value: str) -> dict[int, float]:
        groups = [self.groups.get(("known", name, method), []) for method in CAREFUL]
        tuned = [by_repeat(found, "cv_loss") for found in groups]
        scores = [by_repeat(found, value) for found in groups]
        repeats = set.intersection(*(set(each) for each in tuned))
        best = {r: int(np.argmin([each[r] for each in tuned])) for r in sorted(repeats)}
        return {repeat: scores[which][repeat] for repeat, which in best.items()}

    def new(
        self, stem: str, measure: str, columns: Sequence[_Column], with_worst: bool = False
    ) -> ResultTable:
        """Average the sources that were left out, each once."""
        rows = []
        for name, method in product(self.scope.datasets, MODELS):
            found = self.groups.get(("new", name, method), [])
            whole: list[Mapping[str, Any]] = [each.values for each in found if not each.error]
            for head, value in columns:
                known = [each for each in map(value, whole) if each is not None]
                row = f"{name}, {MODELS[method]}"
                rows.append(self.paper.entry(row, head, known, failed(found)))
                if with_worst:
                    worst = [min(known)] if known else []
                    rows.append(self.paper.entry(row, f"{head}, worst source", worst))
        sentences = {
            "new": lambda: [*promise_sentences(rows), *held_sentence(rows)],
            "recalibration": lambda: recalibration_sentences(rows, [c.head for c in columns]),
        }.get(stem, list)()
        better = {"coverage": True, "novelty": True}.get(stem, False)
        return self._table(stem, measure, rows, sentences, better)

    def _table(
        self, stem: str, measure: str, rows: list[ResultRow], said: list[str], better: bool
    ) -> ResultTable:
        columns = tuple(dict.fromkeys(row.column for row in rows))
        return ResultTable(
            f"{self.paper.name}-{stem}", f"{self.paper.printed.title}: {measure}", measure,
            [*rows, *mean_rows(rows, columns)], said,
            (*self.paper.printed.notes, *self.scope.missing_notes), greater_is_better=better,
        )  # fmt: skip
