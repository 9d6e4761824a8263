"""A study: datasets x methods x repeats x folds as cells, and the table of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from sklearn.model_selection import StratifiedShuffleSplit

from ensemblage.datasets import Dataset, fold_labels
from ensemblage.evaluation import compare_methods
from ensemblage.messages import CLASSIFICATION, MEASURES, REGRESSION, Task
from ensemblage.methods._choice import corrected_error
from ensemblage.methods._fold_scores import Scores
from ensemblage.methods._measures import LABELS
from ensemblage.methods._number_scores import NumberScores
from ensemblage.methods._registry import get_method
from ensemblage.parallel import Fold, draw_seeds, make_folds
from ensemblage.runs import DEFAULT_FOLDS, Cell, CellResult, Plain, ResultRow, ResultTable

# Of how cells are computed; a change that alters values raises it.
VERSION = 3

MOST_CELLS = 1_000_000


class Splits(NamedTuple):
    """Repeats of stratified folds, or of a share drawn for testing where that is given.

    Folds have each class as often, or numbers from each part of their range. With
    ``new_sources`` each source is in one fold only; ``quick`` leaves rows out of large folds.
    """

    seed: int = 0
    repeats: int = 1
    folds: int | None = DEFAULT_FOLDS
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False

    @property
    def share(self) -> float:
        """Share of the rows that a split tests."""
        return 1 / self.folds if self.folds else float(self.test_share or 0)

    def places(self) -> list[tuple[int, int]]:
        """Repeat and fold of each split, first repeats first."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds or 1)]

    def rows(self, dataset: Dataset, repeat: int, fold: int) -> Fold:
        """Rows to train on and rows to test on."""
        y, seed = fold_labels(dataset.y), self._repeat_seed(repeat)
        if self.folds is None:
            share = StratifiedShuffleSplit(1, test_size=self.test_share, random_state=seed)
            return Fold(*next(share.split(y, y)))
        return make_folds(y, self.folds, seed, dataset.sources if self.new_sources else None)[fold]

    def fold_seed(self, repeat: int, fold: int) -> int:
        """For what is drawn from a fold's rows, the same for every method."""
        return draw_seeds(self._repeat_seed(repeat), fold + 1)[fold]

    def _repeat_seed(self, repeat: int) -> int:
        # the same whatever the number of repeats
        return draw_seeds(self.seed, repeat + 1)[repeat]


class MethodPoint(NamedTuple):
    """A method with one set of parameters, under a label that no other point has.

    ``digest`` tells a user's own estimators of one name apart.
    """

    name: str
    label: str
    params: Mapping[str, Any]
    digest: str = ""


class StudyParams(Struct, frozen=True, omit_defaults=True):
    """What tells one cell of a study from another; what is usual is left out of the cell."""

    dataset: str
    method: str
    params: dict[str, Any]
    repeat: int
    fold: int
    seed: int
    folds: int | None = None
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False
    digest: str = ""

    @classmethod
    def of(cls, cell: Cell) -> StudyParams:
        """Read a cell."""
        return msgspec.convert(cell.params, cls)

    @property
    def splits(self) -> Splits:
        """How the rows are split, but for the number of repeats."""
        return Splits(
            self.seed, folds=self.folds, test_share=self.test_share, new_sources=self.new_sources,
            quick=self.quick,
        )  # fmt: skip


def scores_of(result: CellResult, task: Task = CLASSIFICATION) -> Any:
    """Read the values of a cell, Scores or NumberScores; None if it failed."""
    kind: Any = NumberScores if task is REGRESSION else Scores
    return None if result.error else msgspec.convert(result.values, kind)


@dataclass(frozen=True)
class Study:
    """What is to be repeated; the datasets by their names."""

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[MethodPoint, ...]
    splits: Splits
    measure: str = "accuracy"
    task: Task = CLASSIFICATION

    def cells(self, hashes: Mapping[str, str]) -> list[Cell]:
        """First repeats first, so that a table of all entries is there early."""
        n_splits = self.splits.repeats * (self.splits.folds or 1)
        count = n_splits * len(self.datasets) * len(self.methods)
        if count > MOST_CELLS:
            raise ValueError(
                f"{self.splits.repeats:,} repeats make {count:,} fits, more than {MOST_CELLS:,}. "
                "Ask for fewer repeats, methods or datasets, or spread them over several studies."
            )
        return [
            Cell(self.name, self._params(dataset, method, place), VERSION, hashes[dataset])
            for place in self.splits.places()
            for dataset in self.datasets
            for method in self.methods
        ]

    def _params(
        self, dataset: str, method: MethodPoint, place: tuple[int, int]
    ) -> dict[str, Plain]:
        splits = self.splits
        params = StudyParams(
            dataset, method.name, dict(method.params), *place, splits.seed, splits.folds,
            splits.test_share, splits.new_sources, splits.quick, method.digest,
        )  # fmt: skip
        return dict(msgspec.to_builtins(params))


def summarise_study(results: Sequence[CellResult], study: Study) -> list[ResultTable]:
    """Make one table, a row per dataset and method, of whatever results there are."""
    rows = [
        _row(dataset, method, _of(results, dataset, method), study)
        for dataset in study.datasets
        for method in study.methods
    ]
    return [
        ResultTable(
            study.name, study.title, LABELS[study.measure], rows,
            summary=_summary(rows, study), notes=_notes(study),
            greater_is_better=MEASURES[study.measure].greater_is_better,
            library=[
                each.label
                for each in study.methods
                if get_method(each.name, study.task.name).ours
            ],
        )
    ]  # fmt: skip


def _of(results: Sequence[CellResult], dataset: str, method: MethodPoint) -> list[CellResult]:
    def wanted(result: CellResult) -> bool:
        params = StudyParams.of(result.cell)
        own = (params.dataset, params.method, params.params)
        return own == (dataset, method.name, dict(method.params))

    return [each for each in results if wanted(each)]


def _row(
    dataset: str, method: MethodPoint, results: Sequence[CellResult], study: Study
) -> ResultRow:
    read = [scores_of(each, study.task) for each in results]
    scores = [each for each in read if each is not None]
    values = [getattr(each, study.measure) for each in scores]
    numbers = np.array([each for each in values if each is not None], dtype=float)
    errors = [each.error for each in results if each.error]
    silent = bool(values) and not len(numbers)
    return ResultRow(
        dataset, method.label, None,
        float(numbers.mean()) if len(numbers) else None,
        corrected_error(numbers, study.splits.share), len(numbers), len(errors),
        f"gives no {study.task.beside}" if silent and not errors else _note(errors, scores),
    )  # fmt: skip


def _note(errors: Sequence[str], scores: Sequence[Scores | NumberScores]) -> str:
    if errors:
        return f"{len(errors)} failed: {errors[0]}"
    warned = [each.warnings[0] for each in scores if each.warnings]
    return f"{len(warned)} of {len(scores)} fits warned: {warned[0]}" if warned else ""


def _notes(study: Study) -> list[str]:
    splits = study.splits
    kind = (
        f"{splits.folds} stratified folds"
        if splits.test_share is None
        else f"A stratified {splits.test_share:.0%} of the rows for testing"
    )
    text = (
        f"{kind}, drawn {_times(splits.repeats)}, the same for every method; seed {splits.seed}. "
        "± is a standard error, corrected for the overlap of training sets."
    )
    return [text]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _summary(rows: Sequence[ResultRow], study: Study) -> list[str]:
    """Say which method comes first, and whether that can be chance."""
    labels = [method.label for method in study.methods]
    if len(labels) < 2:
        return []
    scores = np.array([row.ours for row in rows], dtype=float).reshape(-1, len(labels))
    whole = scores[~np.isnan(scores).any(axis=1)]
    measure = MEASURES[study.measure]
    greater = measure.greater_is_better
    if not len(whole):
        return ["No dataset has values of every method yet, so there is no ranking."]
    if len(whole) == 1:
        # folds of one dataset are no evidence about others, so there is no test
        order = np.argsort(-whole[0] if greater else whole[0], kind="stable")
        first, second = (f"{labels[i]} ({measure.written(whole[0, i], 4)})" for i in order[:2])
        return [f"Best mean {measure.label}: {first}, then {second}."]
    found = compare_methods(whole, greater_is_better=greater, names=labels)
    left_out = len(scores) - len(whole)
    rest = f"Datasets without values of every method, left out of the ranking: {left_out}."
    return [found.sentence(), *[rest] * bool(left_out)]
