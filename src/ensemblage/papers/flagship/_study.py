"""Tables of the pool's study."""

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
    LIBRARY_GROUPS,
    MEMBERS,
    N_OUTER_FOLDS,
    SINGLES,
    TREES,
    MethodOutputs,
    OuterFold,
    fit_members,
    method_outputs,
    mix_with_prior,
    outer_fold,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

TUNED = "boosting, 30 settings"
FUSED = ("full", "lean", "standard", "generic control", *FUSIONS)
MIN_DATASETS = 6
"""Fewest datasets with which a difference can be significant."""

Rows = Sequence[ResultRow]


def summarise_loss(rows: Rows) -> list[str]:
    """Rank full and single models; compare both pools with tuned boosting."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=False),
        *loss_difference(rows, "full", TUNED),
        *loss_difference(rows, "lean", TUNED),
        *loss_difference(rows, "lean", "full"),
    ]


def summarise_accuracy(rows: Rows) -> list[str]:
    """Rank full and single models; compare with tuned boosting and the best on each dataset."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=True),
        *_accuracy_difference(rows, "full", TUNED),
        *_accuracy_difference(rows, "lean", TUNED),
        *_compare_with_best(rows, "full"),
        *_compare_with_best(rows, "lean"),
    ]


def summarise_calibration(rows: Rows) -> list[str]:
    names, scores = complete_scores(rows, ("full", *CALIBRATED.values()))
    if not names:
        return []
    own, *others = scores.mean(axis=0)
    lower = [name for name, each in zip(CALIBRATED.values(), others, strict=True) if each < own]
    text = f"Lower: {', '.join(lower)}" if lower else "No calibrated single model has a lower one"
    return [f"Mean calibration error of full over {len(names)} datasets: {own:.4f}. {text}."]


def summarise_fusions(rows: Rows) -> list[str]:
    """Compare pools of other members, and other fusions."""
    pairs = [
        ("full", "standard"), ("lean", "standard"), ("full", "generic control"),
        ("lean", "generic control"), ("full", "lean"), ("full", "full without columns"),
        ("full", "full without decisions"),
        *(("library", f"library without {group}") for group in LIBRARY_GROUPS),
        *(("standard", fusion) for fusion in FUSIONS),
        *(("full", fusion) for fusion in FUSIONS),
    ]  # fmt: skip
    ranks = _ranked(rows, FUSED, greater_is_better=False)
    return [*ranks, *(sentence for pair in pairs for sentence in loss_difference(rows, *pair))]


def summarise_fusion_accuracy(rows: Rows) -> list[str]:
    """Rank pools and fusions by accuracy; compare full with each."""
    differences = [
        sentence for each in FUSED[1:] for sentence in _accuracy_difference(rows, "full", each)
    ]
    return [*_ranked(rows, FUSED, greater_is_better=True), *differences]


def summarise_trees(rows: Rows) -> list[str]:
    return loss_difference(rows, *TREES)


def summarise_cost(rows: Rows) -> list[str]:
    """Cost of both pools relative to tuned boosting."""
    names, scores = complete_scores(rows, ("full", "lean", TUNED))
    if not names:
        return []
    # ratios by dataset, so that a first call that compiles a kernel has little influence
    full, lean = np.median(scores[:, :2] / np.maximum(scores[:, 2:], 1e-9), axis=0)
    return [f"Against {TUNED}, in the median: full {full:.2f} times, lean {lean:.2f} times."]


def loss_difference(rows: Rows, one: str, other: str) -> list[str]:
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    differences, shares = scores[:, 0] - scores[:, 1], scores[:, 0] / scores[:, 1] - 1
    lower = int((differences < 0).sum())
    text = (
        f"{one} against {other}: log loss {differences.mean():+.4f} in the mean, "
        f"{np.median(shares):+.1%} in the median; lower on {lower} of {len(names)} datasets"
        f"{_pvalue_text(differences)}."
    )
    return [text]


def _accuracy_difference(rows: Rows, one: str, other: str) -> list[str]:
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    differences = scores[:, 0] - scores[:, 1]
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    text = (
        f"{one} against {other}: accuracy {differences.mean():+.2f} points in the mean; higher on "
        f"{higher}, lower on {lower} of {len(names)} datasets{_pvalue_text(differences)}."
    )
    return [text]


def _pvalue_text(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if len(differences) < MIN_DATASETS or np.allclose(differences, 0):
        return ""
    return f", Wilcoxon p = {wilcoxon(differences).pvalue:.2g}"


def _compare_with_best(rows: Rows, pool: str) -> list[str]:
    """Count datasets on which a pool is within a point of the best single model."""
    names, scores = complete_scores(rows, (pool, *SINGLES))
    if not names:
        return []
    behind = scores[:, 1:].max(axis=1) - scores[:, 0]
    near = behind <= 1 + 1e-9
    far = [f"{names[k]} ({behind[k]:.1f})" for k in np.flatnonzero(~near)]
    others = f"; further behind on {', '.join(far)}" if far else ""
    text = (
        f"{pool} is within 1 point of the best single model, chosen on the test rows, on "
        f"{int(near.sum())} of {len(names)} datasets ({near.mean():.0%}){others}."
    )
    return [text]


def _ranked(rows: Rows, columns: Sequence[str], *, greater_is_better: bool) -> list[str]:
    """Mean ranks, Friedman's test, and tests of the first method against each other one."""
    names, scores = complete_scores(rows, columns)
    if len(names) < MIN_DATASETS:
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


DATASETS = (
    "abalone", "breast-cancer", "breast-w", "credit-a", "ecoli", "glass", "heart-c", "hepatitis",
    "iris", "labor", "letter", "liver", "lymph", "optdigits", "pendigits", "pima", "segment",
    "sonar", "tic-tac-toe", "vehicle", "vote", "vowel", "waveform", "wine", "yeast",
)  # fmt: skip
N_BINS = 15
DIGITS = 5
"""Decimals of stored confidences: enough for a calibration error."""

SHOWN = ("full", "lean", *SINGLES)
POOLED = (*MEMBERS, *FUSIONS)


class StudyParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One outer fold of one dataset, all methods."""

    dataset: str
    repeat: int
    draws: int
    seed: int


@paper_table("flagship")
class Flagship(PaperTable[tuple[int, int]]):
    """Two outer folds of two datasets, with few settings; three of all datasets; all five.

    A scale is the number of outer folds to run, and of boosting settings to draw.
    """

    version = 2
    scales = Scales((2, 2), (3, 25), (N_OUTER_FOLDS, 25))
    quick_datasets = ("iris", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return DATASETS

    def grid(self, scope: PaperScope) -> Iterator[StudyParams]:
        """Iterate over folds first, so that an interrupted run has all datasets."""
        n_folds, draws = self.scale_of(scope)
        for repeat, name in product(range(n_folds), scope.datasets):
            yield StudyParams(dataset=name, repeat=repeat, draws=draws, seed=scope.seed)

    @staticmethod
    @paper_cell(StudyParams)
    def compute(params: StudyParams, data_dir: str | None) -> dict[str, Any]:
        """Fit all members once, and score every method built from them."""
        fold = outer_fold(paper_dataset(params.dataset, data_dir), params.repeat, params.seed)
        found = dict(method_outputs(fold, fit_members(fold, params.seed, params.draws)))
        return {
            "scores": {name: _scores(each, fold) for name, each in found.items()},
            "seconds": {name: _seconds(each, fold) for name, each in found.items()},
        }

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset")
        singles = tuple(CALIBRATED.values())
        tables = (
            ("log-loss", "log loss", SHOWN, summarise_loss),
            ("accuracy", "accuracy (%)", SHOWN, summarise_accuracy),
            ("calibration", "calibration error", ("full", "lean", *singles), summarise_calibration),
            ("fusions", "log loss", POOLED, summarise_fusions),
            ("fusions-accuracy", "accuracy (%)", POOLED, summarise_fusion_accuracy),
            ("trees", "log loss", TREES, summarise_trees),
            ("fit", "seconds to fit", SHOWN, summarise_cost),
            ("predict", "milliseconds for 100 rows", SHOWN, summarise_cost),
        )
        made = []
        for name, measure, methods, summarise in tables:
            rows: list[ResultRow] = []
            for dataset, method in product(scope.datasets, methods):
                found = groups.get((dataset,), [])
                if name == "calibration":
                    values = calibration_errors(found, method)
                else:
                    values = _by_fold(found, method, *VALUES[name])
                rows.append(self.entry(dataset, method, values, failed(found)))
            better, part = name.endswith("accuracy"), TITLE_PREFIXES.get(name, "")
            made.append(
                self.measure_table(
                    name, measure, rows, summarise(rows), scope, greater_is_better=better, part=part
                )
            )
        return made


def _scores(outputs: MethodOutputs, fold: OuterFold) -> dict[str, Any]:
    """Score a method; its probabilities are mixed with the prior, as the pool's members are."""
    proba = mix_with_prior(outputs.probabilities, fold.train)
    correct = proba.argmax(axis=1) == fold.test.y
    losses = -np.log(proba[np.arange(len(fold.test.y)), fold.test.y])
    return {
        "accuracy": 100 * float(correct.mean()),
        "log_loss": float(losses.mean()),
        "confidence": np.round(proba.max(axis=1), DIGITS).tolist(),
        "correct": correct.astype(int).tolist(),
    }


def _seconds(outputs: MethodOutputs, fold: OuterFold) -> dict[str, float]:
    return {"fit": outputs.fit_seconds, "predict": 1e5 * outputs.predict_seconds / len(fold.test.y)}


VALUES = {
    "log-loss": ("scores", "log_loss"),
    "accuracy": ("scores", "accuracy"),
    "fusions": ("scores", "log_loss"),
    "fusions-accuracy": ("scores", "accuracy"),
    "trees": ("scores", "log_loss"),
    "fit": ("seconds", "fit"),
    "predict": ("seconds", "predict"),
}
"""Keys of each table in the values of a cell."""
TITLE_PREFIXES = {
    "fusions": "other fusions, ",
    "fusions-accuracy": "other fusions, ",
    "trees": "one tree, ",
}
"""Prefixes of titles of tables that have the same measure as another."""


def _by_fold(results: Iterable[CellResult], method: str, kind: str, value: str) -> list[float]:
    """Value of a method in each fold that did not fail."""
    found: Iterator[Any] = (each.values[kind] for each in results if not each.error)
    return [float(each[method][value]) for each in found]


def calibration_errors(results: Iterable[CellResult], method: str) -> list[float]:
    """Calibration error of all rows of a dataset: a fold has too few for 15 bins."""
    found: Iterator[Any] = (each.values["scores"] for each in results if not each.error)
    scores = [each[method] for each in found]
    if not scores:
        return []
    confidence = np.concatenate([each["confidence"] for each in scores])
    wrong = 1 - np.concatenate([each["correct"] for each in scores])
    # as two classes: the predicted one, and any other
    proba = np.stack([confidence, np.zeros(len(confidence))], axis=1)
    return [reliability(proba, wrong, n_bins=N_BINS).error]
