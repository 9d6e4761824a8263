"""Algorithm 1 of the joint feature-subset paper, literally: gains over one classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.evaluation import oracle_score
from ensemblage.fusion import product_rule
from ensemblage.papers._paper_rows import by_repeat, closeness, failed
from ensemblage.papers._paper_table import PaperScope, PaperTable, ScaleT
from ensemblage.runs import CellResult, ResultRow, ResultTable
from ensemblage.subspace import JointSubspaceClassifier

Array: TypeAlias = NDArray[Any]

LITERAL_MEMBERS = 20
# The paper's p_lambda: none, so that all features are used, and its own.
FLIPS = {"features fixed": 0.0, "features chosen": 0.01}

BASE, LOGISTIC, UNTRAINED = "base", "tuned logistic regression", "untrained members, oracle"
EQUAL_WEIGHTS = tuple(f"equal weights, {flips}" for flips in FLIPS)
GAINS = (*(f"oracle, {flips}" for flips in FLIPS), *EQUAL_WEIGHTS)


class Rows(NamedTuple):
    """Features and class numbers."""

    X: Array
    y: Array


class Parts(NamedTuple):
    """Rows to learn from, to choose the number of members by, and to score."""

    train: Rows
    development: Rows
    test: Rows


class Settings(NamedTuple):
    r"""Step :math:`\eta`, or "auto", and threshold of the paper, which does not tell them."""

    step: float | str
    threshold: float


def tuned_logistic() -> Pipeline:
    """Logistic regression on standardised features, its ``C`` by cross-validation."""
    model = LogisticRegressionCV(Cs=np.logspace(-3, 3, 7), max_iter=5000, scoring="accuracy")
    if "use_legacy_attributes" in model.get_params():  # scikit-learn's next defaults
        model.set_params(l1_ratios=(0.0,), use_legacy_attributes=False)
    return make_pipeline(StandardScaler(), model)


def literal_scores(parts: Parts, settings: Settings, seed: int) -> dict[str, float]:
    """Accuracies of the paper's ensembles and of two controls, in per cent.

    The base is the first member on all features; the oracle is over all members.
    """
    development, test = parts.development, parts.test
    scores: dict[str, float] = {}
    for name, flip_probability in FLIPS.items():
        ensemble = JointSubspaceClassifier(
            LITERAL_MEMBERS, solver="paper", flip_probability=flip_probability,
            learning_rate=settings.step, tol=settings.threshold, random_state=seed,
        ).fit(*parts.train)  # fmt: skip
        held_out = ensemble.member_outputs(development.X)
        path = [_equal_weights(held_out[: k + 1], development.y) for k in range(LITERAL_MEMBERS)]
        outputs = ensemble.member_outputs(test.X)
        # the control does not depend on the ensemble: once is enough
        n_draws = 1 if UNTRAINED in scores else 20
        bound = oracle_score(outputs, test.y, test.X, n_draws=n_draws, random_state=seed)
        scores.setdefault(BASE, _equal_weights(outputs[:1], test.y))
        scores.setdefault(UNTRAINED, bound.untrained)
        scores[f"oracle, {name}"] = bound.oracle
        best = outputs[: int(np.argmax(path)) + 1]
        scores[f"equal weights, {name}"] = _equal_weights(best, test.y)
    scores[LOGISTIC] = float(tuned_logistic().fit(*parts.train).score(*test))
    return {name: 100.0 * value for name, value in scores.items()}


def _equal_weights(outputs: Array, labels: Array) -> float:
    return float((product_rule(outputs).argmax(axis=1) == labels).mean())


class LiteralTable(PaperTable[ScaleT]):
    """Two tables: what the ensembles add to the base, and what the base reaches."""

    accuracy_title: str
    ranked = True
    """Whether rows are datasets."""

    def gain_tables(
        self, found: Mapping[str, Sequence[CellResult]], scope: PaperScope
    ) -> list[ResultTable]:
        """Lay out the splits of each row; gains first."""
        gains = [row for name, cells in found.items() for row in self._gains(name, cells)]
        accuracies = [row for name, cells in found.items() for row in self._accuracies(name, cells)]
        notes = (*self.printed.notes, *scope.missing_notes)
        return [
            ResultTable(
                self.name, self.printed.title, "gain relative to the base's accuracy (%)", gains,
                [*closeness(gains, 2), *_gain_sentences(gains)], notes, greater_is_better=True,
                ranked=self.ranked,
            ),
            ResultTable(
                f"{self.name}-accuracy", self.accuracy_title, "accuracy (%)", accuracies,
                closeness(accuracies, 2), notes, greater_is_better=True,
                ranked=self.ranked,
            ),
        ]  # fmt: skip

    def _accuracies(self, row: str, found: Sequence[CellResult]) -> list[ResultRow]:
        return [
            self.entry(row, column, by_repeat(found, column), failed(found))
            for column in (BASE, LOGISTIC)
        ]

    def _gains(self, row: str, found: Sequence[CellResult]) -> list[ResultRow]:
        """In per cent of the base of the same split."""
        base = by_repeat(found, BASE)
        rows = []
        for column in (*GAINS, UNTRAINED, LOGISTIC):
            own = by_repeat(found, column)
            gains = {repeat: 100.0 * (own[repeat] / base[repeat] - 1.0) for repeat in own}
            rows.append(self.entry(row, column, gains, failed(found)))
        return rows


def _spread(row: ResultRow) -> str:
    """Of one value there is none."""
    return "" if row.standard_error is None else f" ± {row.standard_error:.2f}"


def _gain_sentences(gains: Sequence[ResultRow]) -> list[str]:
    place = {(row.row, row.column): row for row in gains}
    sentences = []
    for name in dict.fromkeys(row.row for row in gains):
        parts = [(column, place[name, column]) for column in (*EQUAL_WEIGHTS, LOGISTIC)]
        known = [
            f"{column} {found.ours:+.2f}{_spread(found)}"
            for column, found in parts
            if found.ours is not None
        ]
        if known:
            sentences.append(f"{name}: gain over the base in per cent: {', '.join(known)}.")
    return sentences
