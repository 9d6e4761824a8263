"""The pool's study: tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np
from scipy.stats import wilcoxon

from ensemblage.evaluation import MethodComparison, compare_methods, reliability
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
)
from ensemblage.papers._summaries import complete_scores, failed, grouped
from ensemblage.papers.flagship._members import (
    CALIBRATED,
    FUSIONS,
    MEMBERS,
    OUTER,
    PLACES,
    SINGLES,
    TREES,
    Answer,
    OuterFold,
    answers,
    everybody,
    floored,
    outer_fold,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

TUNED = "boosting, 30 settings"
FUSED = ("full", "lean", "anchors", "generic control", *FUSIONS)
ENOUGH = 6
"""No fewer sets can give a significant difference."""

Rows = Sequence[ResultRow]


def loss_verdict(rows: Rows) -> list[str]:
    """Rank full and the singles; compare both pools with tuned boosting."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=False),
        *loss_gap(rows, "full", TUNED),
        *loss_gap(rows, "lean", TUNED),
        *loss_gap(rows, "lean", "full"),
    ]


def accuracy_verdict(rows: Rows) -> list[str]:
    """Rank full and the singles; compare with tuned boosting and with the best of each set."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=True),
        *_accuracy_gap(rows, "full", TUNED),
        *_accuracy_gap(rows, "lean", TUNED),
        *_near_best(rows, "full"),
        *_near_best(rows, "lean"),
    ]


def calibration_verdict(rows: Rows) -> list[str]:
    names, scores = complete_scores(rows, ("full", *CALIBRATED.values()))
    if not names:
        return []
    own, *others = scores.mean(axis=0)
    lower = [name for name, each in zip(CALIBRATED.values(), others, strict=True) if each < own]
    said = f"Below it are: {', '.join(lower)}" if lower else "No calibrated single is below it"
    return [f"Mean calibration error of full over {len(names)} sets: {own:.4f}. {said}."]


def fusion_verdict(rows: Rows) -> list[str]:
    """Compare what is in the pool, and how it is fused."""
    pairs = [
        ("full", "anchors"), ("lean", "anchors"), ("full", "generic control"),
        ("lean", "generic control"), ("full", "lean"), ("full", "full without columns"),
        ("full", "full without decisions"),
        *(("ours", f"ours without {place}") for place in PLACES),
        *(("anchors", fusion) for fusion in FUSIONS),
        *(("full", fusion) for fusion in FUSIONS),
    ]  # fmt: skip
    ranks = _ranked(rows, FUSED, greater_is_better=False)
    return [*ranks, *(sentence for pair in pairs for sentence in loss_gap(rows, *pair))]


def fusion_accuracy_verdict(rows: Rows) -> list[str]:
    """Rank pools and fusions by accuracy; compare full with each."""
    gaps = [sentence for each in FUSED[1:] for sentence in _accuracy_gap(rows, "full", each)]
    return [*_ranked(rows, FUSED, greater_is_better=True), *gaps]


def tree_verdict(rows: Rows) -> list[str]:
    return loss_gap(rows, *TREES)


def cost_verdict(rows: Rows) -> list[str]:
    """Tell the cost of both pools in units of tuned boosting."""
    names, scores = complete_scores(rows, ("full", "lean", TUNED))
    if not names:
        return []
    # of each set, so that a first call that compiles a kernel does not count for all of them
    full, lean = np.median(scores[:, :2] / np.maximum(scores[:, 2:], 1e-9), axis=0)
    return [f"Against {TUNED}, in the median: full {full:.2f} times, lean {lean:.2f} times."]


def loss_gap(rows: Rows, one: str, other: str) -> list[str]:
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    gaps, shares = scores[:, 0] - scores[:, 1], scores[:, 0] / scores[:, 1] - 1
    said = (
        f"{one} against {other}: log loss {gaps.mean():+.4f} in the mean, {np.median(shares):+.1%} "
        f"in the median; lower on {int((gaps < 0).sum())} of {len(names)} sets{_chance(gaps)}."
    )
    return [said]


def _accuracy_gap(rows: Rows, one: str, other: str) -> list[str]:
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    gaps = scores[:, 0] - scores[:, 1]
    higher, lower = int((gaps > 0).sum()), int((gaps < 0).sum())
    said = (
        f"{one} against {other}: accuracy {gaps.mean():+.2f} points in the mean; higher on "
        f"{higher}, lower on {lower} of {len(names)} sets{_chance(gaps)}."
    )
    return [said]


def _chance(gaps: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if len(gaps) < ENOUGH or np.allclose(gaps, 0):
        return ""
    return f", Wilcoxon p = {wilcoxon(gaps).pvalue:.2g}"


def _near_best(rows: Rows, pool: str) -> list[str]:
    """Say on how many sets a pool is within a point of the best single, chosen afterwards."""
    names, scores = complete_scores(rows, (pool, *SINGLES))
    if not names:
        return []
    behind = scores[:, 1:].max(axis=1) - scores[:, 0]
    near = behind <= 1 + 1e-9
    far = [f"{names[k]} ({behind[k]:.1f})" for k in np.flatnonzero(~near)]
    others = f"; further behind on {', '.join(far)}" if far else ""
    said = (
        f"{pool} is within 1 point of the best single chosen on test on {int(near.sum())} of "
        f"{len(names)} sets ({near.mean():.0%}){others}."
    )
    return [said]


def _ranked(rows: Rows, columns: Sequence[str], *, greater_is_better: bool) -> list[str]:
    """Mean ranks, Friedman's test, and the first of some methods against each other one."""
    names, scores = complete_scores(rows, columns)
    if len(names) < ENOUGH:
        return []
    found = compare_methods(scores, names=list(columns), greater_is_better=greater_is_better)
    ranks = ", ".join(f"{name} {found.mean_ranks[name]:.2f}" for name in found.ranking())
    return [f"Mean ranks: {ranks}.", found.sentence(), _against_full(found)]


def _against_full(found: MethodComparison) -> str:
    parts = [
        f"{pair.second} {pair.nemenyi_pvalue:.2g} / {pair.holm_pvalue:.2g}"
        for pair in found.pairwise
        if pair.first == "full"
    ]
    return f"Nemenyi's p / Wilcoxon's p after Holm, full against: {'; '.join(parts)}."


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


class StudyParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One outer fold of one set, all methods."""

    dataset: str
    repeat: int
    draws: int
    seed: int


@paper_table("flagship")
class Flagship(PaperTable[tuple[int, int]]):
    """Two outer folds of two sets, with few settings; three of all sets; all five.

    A scale has how many of the outer folds to run, and how many settings of boosting to draw.
    """

    scales = Scales((2, 2), (3, 25), (OUTER, 25))
    quick_datasets = ("iris", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return SETS

    def grid(self, scope: PaperScope) -> Iterator[StudyParams]:
        """Folds first, so that a run that was stopped has all sets."""
        n_folds, draws = self.scale_of(scope)
        for repeat, name in product(range(n_folds), scope.datasets):
            yield StudyParams(dataset=name, repeat=repeat, draws=draws, seed=scope.seed)

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
        groups = grouped(results, "dataset")
        singles = tuple(CALIBRATED.values())
        tables = (
            ("log-loss", "log loss", SHOWN, loss_verdict),
            ("accuracy", "accuracy (%)", SHOWN, accuracy_verdict),
            ("calibration", "calibration error", ("full", "lean", *singles), calibration_verdict),
            ("fusions", "log loss", POOLED, fusion_verdict),
            ("fusions-accuracy", "accuracy (%)", POOLED, fusion_accuracy_verdict),
            ("trees", "log loss", TREES, tree_verdict),
            ("fit", "seconds to fit", SHOWN, cost_verdict),
            ("predict", "milliseconds for 100 rows", SHOWN, cost_verdict),
        )
        made = []
        for name, measure, methods, verdict in tables:
            rows: list[ResultRow] = []
            for dataset, method in product(scope.datasets, methods):
                found = groups.get((dataset,), [])
                if name == "calibration":
                    values = calibration_errors(found, method)
                else:
                    values = _by_fold(found, method, *VALUES[name])
                rows.append(self.entry(dataset, method, values, failed(found)))
            better, part = name.endswith("accuracy"), BESIDE.get(name, "")
            made.append(
                self.measure_table(
                    name, measure, rows, verdict(rows), scope, greater_is_better=better, part=part
                )
            )
        return made


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
