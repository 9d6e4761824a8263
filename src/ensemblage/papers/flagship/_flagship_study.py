"""The study of the pool as a declaration: sets, outer folds, one cell for all methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ensemblage.evaluation import reliability
from ensemblage.papers._paper_rows import failed, grouped, mean_rows
from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
)
from ensemblage.papers.flagship._flagship_members import everybody
from ensemblage.papers.flagship._flagship_methods import (
    CALIBRATED,
    FUSIONS,
    MEMBERS,
    SINGLES,
    TREES,
    Answer,
    answers,
    floored,
)
from ensemblage.papers.flagship._flagship_rows import OUTER, OuterFold, outer_fold
from ensemblage.papers.flagship._flagship_verdict import (
    accuracy_verdict,
    calibration_verdict,
    cost_verdict,
    fusion_accuracy_verdict,
    fusion_verdict,
    loss_verdict,
    tree_verdict,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

SETS = (
    "abalone", "breast-cancer", "breast-w", "credit-a", "ecoli", "glass", "heart-c", "hepatitis",
    "iris", "labor", "letter", "liver", "lymph", "optdigits", "pendigits", "pima", "segment",
    "sonar", "tic-tac-toe", "vehicle", "vote", "vowel", "waveform", "wine", "yeast",
)  # fmt: skip
BINS = 15
DIGITS = 5
"""Of confidences that are kept: enough for a calibration error."""

SHOWN = ("full", "lean", *SINGLES)
POOLED = (*MEMBERS, *FUSIONS)


class StudyScale(NamedTuple):
    """How many of the five outer folds to run, and how many settings of boosting to draw."""

    folds: int
    draws: int


class StudyParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One outer fold of one set, all methods."""

    dataset: str
    repeat: int
    draws: int
    seed: int


@paper_table("flagship")
class Flagship(PaperTable[StudyScale]):
    """Two outer folds of two sets, with few settings; three of all sets; all five."""

    scales = Scales(StudyScale(2, 2), StudyScale(3, 25), StudyScale(OUTER, 25))
    quick_datasets = ("iris", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        """All sets, of any scale."""
        return SETS

    def grid(self, scope: PaperScope) -> Iterator[StudyParams]:
        """Folds first, so that a run that was stopped has all sets."""
        scale = self.scale_of(scope)
        for repeat, name in product(range(scale.folds), scope.datasets):
            yield StudyParams(dataset=name, repeat=repeat, draws=scale.draws, seed=scope.seed)

    @staticmethod
    @paper_cell(StudyParams)
    def compute(params: StudyParams, data_dir: str | None) -> dict[str, Any]:
        """Let everybody speak once, and score every method that can be made of it."""
        fold = outer_fold(paper_dataset(params.dataset, data_dir), params.repeat, params.seed)
        found = dict(answers(fold, everybody(fold, params.seed, params.draws)))
        return {
            "scores": {name: _scores(each, fold) for name, each in found.items()},
            "seconds": {name: _seconds(each, fold) for name, each in found.items()},
        }

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Give accuracy, log loss, calibration error and cost, each in a table."""
        sheet = _Sheet(self, results, scope)
        singles = tuple(CALIBRATED.values())
        return [
            sheet.table("log-loss", "log loss", SHOWN, loss_verdict),
            sheet.table("accuracy", "accuracy (%)", SHOWN, accuracy_verdict),
            sheet.table("calibration", "calibration error", ("full", "lean", *singles),
                        calibration_verdict),
            sheet.table("fusions", "log loss", POOLED, fusion_verdict),
            sheet.table("fusions-accuracy", "accuracy (%)", POOLED, fusion_accuracy_verdict),
            sheet.table("trees", "log loss", TREES, tree_verdict),
            sheet.table("fit", "seconds to fit", SHOWN, cost_verdict),
            sheet.table("predict", "milliseconds for 100 rows", SHOWN, cost_verdict),
        ]  # fmt: skip


def _scores(answer: Answer, fold: OuterFold) -> dict[str, Any]:
    """Score an answer; whoever rules out what is true pays as the pool's members would."""
    said = floored(answer.probabilities, fold.learned)
    right = said.argmax(axis=1) == fold.asked.y
    losses = -np.log(said[np.arange(len(fold.asked.y)), fold.asked.y])
    return {
        "accuracy": 100 * float(right.mean()),
        "log_loss": float(losses.mean()),
        "confidence": np.round(said.max(axis=1), DIGITS).tolist(),
        "right": right.astype(int).tolist(),
    }


def _seconds(answer: Answer, fold: OuterFold) -> dict[str, float]:
    """Seconds of the processor to fit, and milliseconds for 100 rows."""
    return {"fit": answer.fit_seconds, "predict": 1e5 * answer.predict_seconds / len(fold.asked.y)}


VALUES = {
    "log-loss": ("scores", "log_loss"),
    "accuracy": ("scores", "accuracy"),
    "fusions": ("scores", "log_loss"),
    "fusions-accuracy": ("scores", "accuracy"),
    "trees": ("scores", "log_loss"),
    "fit": ("seconds", "fit"),
    "predict": ("seconds", "predict"),
}
"""Where in a cell's values a table finds its own."""
BESIDE = {
    "fusions": "other fusions, ",
    "fusions-accuracy": "other fusions, ",
    "trees": "one tree, ",
}
"""What a table of the same measure as another is of."""


class _Sheet:
    """Tables of one value each, from the same results."""

    def __init__(self, table: Flagship, results: Sequence[CellResult], scope: PaperScope) -> None:
        self.paper, self.scope = table, scope
        self.groups = grouped(results, "dataset")

    def table(self, name: str, measure: str, methods: Sequence[str], verdict: Any) -> ResultTable:
        """Average the folds of each set, and compare over the sets."""
        rows: list[ResultRow] = []
        for dataset, method in product(self.scope.datasets, methods):
            found = self.groups.get((dataset,), [])
            if name == "calibration":
                values = calibration_errors(found, method)
            else:
                values = _by_fold(found, method, *VALUES[name])
            rows.append(self.paper.entry(dataset, method, values, failed(found)))
        printed = self.paper.printed
        return ResultTable(
            f"{self.paper.name}-{name}",
            f"{printed.title}: {BESIDE.get(name, '')}{measure}", measure,
            [*rows, *mean_rows(rows, methods)], verdict(rows),
            (*printed.notes, *self.scope.missing_notes),
            greater_is_better=name.endswith("accuracy"),
        )  # fmt: skip


def _by_fold(results: Iterable[CellResult], method: str, kind: str, value: str) -> list[float]:
    """One value of a method in each fold that did not fail."""
    found: Iterator[Any] = (each.values[kind] for each in results if not each.error)
    return [float(each[method][value]) for each in found]


def calibration_errors(results: Iterable[CellResult], method: str) -> list[float]:
    """One calibration error of all rows of a set: in a fold there are too few for 15 bins."""
    found: Iterator[Any] = (each.values["scores"] for each in results if not each.error)
    scores = [each[method] for each in found]
    if not scores:
        return []
    sure = np.concatenate([each["confidence"] for each in scores])
    wrong = 1 - np.concatenate([each["right"] for each in scores])
    # as of two classes: the one that is said, and any other
    return [reliability(np.stack([sure, np.zeros(len(sure))], axis=1), wrong, n_bins=BINS).error]
