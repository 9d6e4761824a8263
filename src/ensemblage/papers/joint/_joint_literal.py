"""Algorithm 1 of the joint feature-subset paper, literally: gains over one classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.evaluation import oracle_score
from ensemblage.fusion import product_rule
from ensemblage.papers._paper_rows import (
    by_repeat,
    entry,
    failed,
)
from ensemblage.papers._paper_sentences import (
    closeness,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable
from ensemblage.subspace import JointSubspaceClassifier

Rows: TypeAlias = tuple[np.ndarray, np.ndarray]
LITERAL_MEMBERS = 20
# The paper's p_lambda: none, so that all features are used, and its own.
FLIPS = {"features fixed": 0.0, "features chosen": 0.01}

BASE, LOGISTIC, UNTRAINED = "base", "tuned logistic regression", "untrained members, oracle"
GAINS = tuple(f"{fusion}, {flips}" for fusion in ("oracle", "equal weights") for flips in FLIPS)

NOTES = (
    (
        "features fixed: all members see all features (the paper's Θ); features chosen: subsets "
        "are learned with the coefficients, each feature flipped with probability 0.01 (Θ, Λ)."
    ),
    (
        "The paper sets step and threshold by hand and does not tell them; ours are those that "
        "come near its oracle. Converged members gain nothing by equal weights."
    ),
    (
        f"The oracle needs the labels and flatters: the column '{UNTRAINED}' is that of as many "
        "random classifiers that have learned nothing."
    ),
    "The tuned logistic regression is not in the paper; it chooses its C by cross-validation.",
)


def tuned_logistic():
    """Logistic regression on standardised features, its ``C`` by cross-validation.

    Returns
    -------
    Pipeline
        Unfitted.
    """
    grid = np.logspace(-3, 3, 7)
    return make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            Cs=grid, l1_ratios=(0.0,), max_iter=5000, scoring="accuracy",
            use_legacy_attributes=False,
        ),
    )  # fmt: skip


def literal_scores(
    train: Rows, development: Rows, test: Rows, settings: tuple[Any, float], seed: int
) -> dict[str, float]:
    r"""Accuracies of the paper's ensembles and of two controls, in per cent.

    Parameters
    ----------
    train, development, test : tuple of ndarrays
        Features and class numbers: to learn from, to choose the number of members by, to score.
    settings : tuple
        Step :math:`\eta` and threshold.
    seed : int
        Of everything that is drawn.

    Returns
    -------
    dict of str to float
        ``base`` is the first member on all features; the oracle is over all members.
    """
    scores: dict[str, float] = {}
    for name, flip_probability in FLIPS.items():
        ensemble = JointSubspaceClassifier(
            LITERAL_MEMBERS, solver="paper", flip_probability=flip_probability,
            learning_rate=settings[0], tol=settings[1], random_state=seed,
        ).fit(*train)  # fmt: skip
        held_out = ensemble.member_outputs(development[0])
        path = [_equal_weights(held_out[: k + 1], development[1]) for k in range(LITERAL_MEMBERS)]
        outputs = ensemble.member_outputs(test[0])
        # the control does not depend on the ensemble: once is enough
        n_draws = 1 if UNTRAINED in scores else 20
        bound = oracle_score(outputs, test[1], test[0], n_draws=n_draws, random_state=seed)
        scores.setdefault(BASE, _equal_weights(outputs[:1], test[1]))
        scores.setdefault(UNTRAINED, bound.untrained)
        scores[f"oracle, {name}"] = bound.oracle
        best = outputs[: int(np.argmax(path)) + 1]
        scores[f"equal weights, {name}"] = _equal_weights(best, test[1])
    scores[LOGISTIC] = float(tuned_logistic().fit(*train).score(*test))
    return {name: 100.0 * value for name, value in scores.items()}


def _equal_weights(outputs: np.ndarray, labels: np.ndarray) -> float:
    return float((product_rule(outputs).argmax(axis=1) == labels).mean())


def accuracy_rows(
    row: str, found: Sequence[CellResult], paper: float | None = None, **facts: Any
) -> list[ResultRow]:
    """Accuracies of the base and of the tuned baseline.

    Parameters
    ----------
    row : str
        Name of the row.
    found : sequence of CellResult
        Its splits.
    paper : float or None, default=None
        The paper's base.
    **facts : str or bool
        The entries' ``note`` and ``comparable``.

    Returns
    -------
    list of ResultRow
        Two.
    """
    return [
        entry(
            row, column, by_repeat(found, column), paper=paper if column == BASE else None,
            failures=failed(found), **facts,
        )
        for column in (BASE, LOGISTIC)
    ]  # fmt: skip


def gain_rows(
    row: str, found: Sequence[CellResult], paper: Sequence[float | None], **facts: Any
) -> list[ResultRow]:
    """Gains relative to the base of the same split, and the controls' gains.

    Parameters
    ----------
    row : str
        Name of the row.
    found : sequence of CellResult
        Its splits.
    paper : sequence of float or None
        The paper's gains, in the order of ``GAINS``.
    **facts : str or bool
        The entries' ``note`` and ``comparable``.

    Returns
    -------
    list of ResultRow
        One per column, in per cent of the base.
    """
    base = by_repeat(found, BASE)
    printed = dict(zip(GAINS, paper, strict=True))
    rows = []
    for column in (*GAINS, UNTRAINED, LOGISTIC):
        own = by_repeat(found, column)
        gains = {repeat: 100.0 * (own[repeat] / base[repeat] - 1.0) for repeat in own}
        rows.append(entry(row, column, gains, paper=printed.get(column), failures=failed(found),
                          **facts))  # fmt: skip
    return rows


def joint_tables(
    name: str,
    titles: tuple[str, str],
    accuracies: Sequence[ResultRow],
    gains: Sequence[ResultRow],
    notes: Sequence[str],
) -> list[ResultTable]:
    """Two tables: what the base reaches, and what the ensembles add.

    Parameters
    ----------
    name : str
        The experiment.
    titles : tuple of str
        Of the two.
    accuracies, gains : sequence of ResultRow
        Their rows.
    notes : sequence of str
        For both.

    Returns
    -------
    list of ResultTable
        Gains first.
    """
    summary = [*closeness(gains, 2), *_gain_sentences(gains)]
    return [
        ResultTable(
            name, titles[0], "gain relative to the base's accuracy (%)", gains, summary, notes,
            greater_is_better=True,
        ),
        ResultTable(
            f"{name}-accuracy", titles[1], "accuracy (%)", accuracies, closeness(accuracies, 2),
            notes, greater_is_better=True,
        ),
    ]  # fmt: skip


def _gain_sentences(gains: Sequence[ResultRow]) -> list[str]:
    place = {(row.row, row.column): row for row in gains}
    sentences = []
    for name in dict.fromkeys(row.row for row in gains):
        parts = [(column, place[name, column]) for column in (*GAINS[2:], LOGISTIC)]
        known = [
            f"{column} {found.ours:+.2f} ± {found.standard_error or 0.0:.2f}"
            for column, found in parts
            if found.ours is not None
        ]
        if known:
            sentences.append(f"{name}: gain over the base in per cent: {', '.join(known)}.")
    return sentences
