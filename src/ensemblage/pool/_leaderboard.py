"""Out-of-fold performance of a pool: leaderboard, ablation, pruning path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count_field,
    deal_folds,
    expect,
    expect_array,
    expect_fitted,
    html_table,
    mark_best,
    number_field,
    set_module,
    share_field,
    signed_field,
    text_table,
    write_number,
)
from ensemblage.fusion import Fusion, cross_val_combine
from ensemblage.pool._member_spec import PoolClassTarget, PoolNumericTarget, PoolTarget, mean_loss

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

N_FOLDS = 5
"""Folds in which fusions of fewer members are cross-fitted."""
ACCURACY = "accuracy"
RMSE = "RMSE"
LEGEND = (
    "{measures} Each fold is scored with settings, calibration and weights chosen on the other "
    "folds. ±: standard error, corrected for the overlap of the folds. Members are sorted by log "
    "loss: that of the first is probably too good, as it is the lowest of several. group: where "
    "the diversity of a member is; standard: a common learner. fit: seconds of all fits. predict: "
    "milliseconds for 100 rows."
)
MEASURES = {
    ACCURACY: "Log loss and accuracy are out of fold; those of a member are its own, after "
    "temperature scaling.",
    RMSE: "Log loss (negative mean log density) and root mean squared error are out of fold; the "
    "log loss of a member is after calibration of its variance.",
}
ABLATION_COLUMNS = (
    Heading("without"),
    Heading("members"),
    Heading("log loss", numeric=True),
    Heading("change", numeric=True),
    Heading("standard error", numeric=True),
)
ABLATION_LEGEND = (
    "Out-of-fold log loss of the pool with all members and without each group. A change above "
    "zero is a contribution of the group. For the changes only the fusion is refitted, with five "
    "folds of its own; settings stay as chosen on all folds."
)

MAX_FITTED_ROWS = 10**11
"""Positions of rows of a fit are below; no memory has more."""


class PrintedTable:
    """Prints as the table that ``as_table`` gives."""

    def as_table(self) -> TableBlock:
        raise NotImplementedError  # look: ok

    def __str__(self) -> str:
        return text_table(self.as_table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(self.as_table())


class PrintedRows(PrintedTable, Sequence[Any]):
    """A sequence of rows that prints as a table."""

    rows: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class LeaderboardRow:
    """One line of a leaderboard."""

    member: str
    group: str
    log_loss: float
    log_loss_se: float
    score: float
    score_se: float
    weight: float | None
    fit_seconds: float
    predict_seconds: float | None
    n_samples: int


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class Leaderboard(PrintedRows):
    """Out-of-fold performance of a pool and its members; a sequence that prints as a table.

    Parameters
    ----------
    rows : tuple of LeaderboardRow
        The pool, then its members by log loss. Each has the fields ``member`` (``"pool"`` for the
        whole pool), ``group`` (where its diversity is: ``"rows"``, ``"columns"``, ``"decisions"``;
        ``"standard"`` for a common learner, ``"user"`` for a user's own), ``log_loss`` and
        ``score`` (out of fold, after temperature scaling or calibration of the variance), their
        standard errors ``log_loss_se`` and ``score_se``, ``weight`` (relative weight in the
        fusion, None where the fusion has none), ``fit_seconds`` (of all fits), ``predict_seconds``
        (for 100 rows; None for a member without a weight) and ``n_samples`` (training rows).
    failures : tuple of str
        Members that were left out, each with the reason.
    note : str, default=""
        Performance of the source-aware pool, if there is one.
    metric : {"accuracy", "RMSE"}, default="accuracy"
        Measure in ``score``.

    Notes
    -----
    Each fold is scored with settings of the members, calibration and weights chosen on the other
    folds. On tables of about a hundred rows with a signal the scores are slightly too bad, since
    the final pool is fitted to more rows. Without any signal they are slightly too good, since the
    outputs of the other folds are of members fitted to this one. Both were less than the standard
    error in simulations. The best of several members is too good by that selection.

    Standard errors are those of independent rows, times a factor for the overlap of the folds.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.pool import EnsemblageClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, y)
    >>> [row.member for row in model.leaderboard_]
    ['pool', 'logistic']
    """

    rows: tuple[LeaderboardRow, ...]
    failures: tuple[str, ...] = ()
    note: str = ""
    metric: str = ACCURACY

    def as_table(self) -> TableBlock:
        """Return the table as plain values.

        Returns
        -------
        TableBlock
            A row per member, the best values marked.
        """
        columns = (
            Heading("member"),
            Heading("group"),
            Heading("log loss", numeric=True, greater_is_better=False),
            Heading(self.metric, numeric=True, greater_is_better=self.metric == ACCURACY),
            Heading("weight", numeric=True),
            Heading("fit, s", numeric=True),
            Heading("predict, ms", numeric=True),
            Heading("rows", numeric=True),
        )
        rows = mark_best(columns, [self._fields(each) for each in self.rows])
        legend = LEGEND.format(measures=MEASURES[self.metric])
        text = " ".join([legend, *self._sentences])
        return TableBlock(columns, rows, "The pool and its members", text)

    def _fields(self, row: LeaderboardRow) -> list[Field]:
        predict, score = row.predict_seconds, number_field(row.score, 3, row.score_se)
        if self.metric == RMSE:
            error = f"± {write_number(row.score_se, 2)}"
            score = Field(write_number(row.score), row.score, error)
        return [
            Field(row.member),
            Field(row.group),
            number_field(row.log_loss, 4, row.log_loss_se),
            score,
            share_field(row.weight),
            number_field(row.fit_seconds, 2),
            number_field(None if predict is None else 1000 * predict, 1),
            count_field(row.n_samples),
        ]

    def __str__(self) -> str:
        return "\n".join([text_table(self.as_table()), *self._sentences])

    @property
    def _sentences(self) -> list[str]:
        return [*self.failures, *([self.note] if self.note else [])]

    def _check_fitted(self) -> None:
        expect(isinstance(self.rows, tuple) and self.metric in MEASURES, "it has no rows")
        rules = {
            "member": "string", "group": "string", "log_loss": "real", "log_loss_se": "real",
            "score": "real", "score_se": "real", "weight": "optional real", "fit_seconds": "real",
            "predict_seconds": "optional real", "n_samples": "count",
        }  # fmt: skip
        for each in self.rows:
            expect(isinstance(each, LeaderboardRow), "a row is not a LeaderboardRow")
            expect_fitted(each, rules)
        texts = isinstance(self.failures, tuple) and isinstance(self.note, str)
        expect(texts and all(isinstance(each, str) for each in self.failures), "a note is not text")


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold outputs of all tuned members, and of the pool; 20,000 rows at most.

    ``outputs`` are (n_members, n_rows, n_outputs): class probabilities, or decision values of
    members without probabilities; for regression, mean and variance. ``pool_outputs`` are (n_rows,
    n_outputs), of a cross-fitted fusion. ``indices`` are the rows' positions in ``fit``; ``y`` are
    class codes or the numeric target.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    outputs: NDArray[Any]
    pool_outputs: NDArray[Any]
    y: NDArray[Any]
    indices: Indices
    weights: Doubles | None

    @property
    def numeric(self) -> bool:
        """Whether the target is numeric: ``y`` then holds floats."""
        return self.y.dtype.kind == "f"

    @property
    def target(self) -> PoolTarget:
        if self.numeric:
            return PoolNumericTarget(float(self.y.std()))
        return PoolClassTarget(np.arange(self.outputs.shape[2]))

    def fit_fusion(self, fusion: Fusion, members: Sequence[int]) -> Fusion:
        """Fit a fusion to the outputs of some members."""
        outputs = self.outputs[np.asarray(members, dtype=int)].astype(float)
        fitted: Fusion = clone(fusion).fit(
            outputs, self.y, numeric=self.numeric, sample_weight=self.weights
        )
        return fitted

    def cross_fuse(self, fusion: Fusion, members: Sequence[int]) -> Doubles:
        """Fuse the outputs of some members by a fusion that is cross-fitted in five folds."""
        outputs = self.outputs[np.asarray(members, dtype=int)].astype(float)
        labels = self.target.stratification_labels(self.y)
        folds = deal_folds(labels, N_FOLDS, np.random.default_rng(0))
        fused = cross_val_combine(
            clone(fusion), outputs, self.y, folds,
            numeric=self.numeric, sample_weight=self.weights,
        )  # fmt: skip
        unknown = np.isnan(fused).any(axis=1)
        if unknown.any():
            fused[unknown] = self.fit_fusion(fusion, members).combine(outputs[:, unknown])
        return fused

    def check(self, n_classes: int | None) -> None:
        """Refuse arrays of inconsistent lengths, and class codes out of range."""
        n_members, n_rows = len(self.names), len(self.y)
        expect(len(self.groups) == n_members, "groups has another length")
        if n_classes is None:
            expect_array(self, "outputs", [n_members, n_rows, 2])
            expect_array(self, "pool_outputs", [n_rows, 2])
            expect_array(self, "y", [n_rows])
            variances = np.append(self.outputs[:, :, 1], self.pool_outputs[:, 1])
            expect(bool((variances > 0).all()), "a variance is not above zero")
        else:
            expect_array(self, "outputs", [n_members, n_rows, n_classes])
            expect_array(self, "pool_outputs", [n_rows, n_classes], low=0, high=1 + 1e-6)
            expect_array(self, "y", [n_rows], "integer", low=0, high=n_classes - 1)
        expect_array(self, "indices", [n_rows], "integer", low=0, high=MAX_FITTED_ROWS)
        if self.weights is not None:
            expect_array(self, "weights", [n_rows], low=0)


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class AblationRow:
    """Out-of-fold log loss without a group, its change, and the change's standard error."""

    group: str
    members: tuple[str, ...]
    log_loss: float
    change: float
    standard_error: float


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class Ablation(PrintedRows):
    """Log loss of the whole pool, and a row for each group, the largest change first."""

    log_loss: float
    rows: tuple[AblationRow, ...]

    def as_table(self) -> TableBlock:
        """Return the table as plain values: the whole pool, then a row per group."""
        whole = [Field("nothing"), Field(""), number_field(self.log_loss, 4), Field(""), Field("")]
        rows = [
            [
                Field(each.group),
                Field(", ".join(each.members)),
                number_field(each.log_loss, 4),
                signed_field(each.change, 4),
                number_field(each.standard_error, 4),
            ]
            for each in self.rows
        ]
        return TableBlock(
            ABLATION_COLUMNS,
            [whole, *rows],
            "Ablation: log loss without each group",
            ABLATION_LEGEND,
        )


def ablate(record: OutOfFold, fusion: Fusion) -> Ablation:
    """Refit the fusion without each group in turn; skip a group that holds all members."""
    groups, target = np.array(record.groups), record.target
    shares = np.full(len(record.y), 1 / len(record.y))
    if record.weights is not None:
        shares = record.weights / record.weights.sum()

    def losses(members: Any) -> Doubles:
        return target.reported_losses(record.cross_fuse(fusion, members), record.y)

    whole = losses(np.arange(len(groups)))
    told = mean_loss(target.reported_losses(record.pool_outputs, record.y), record.weights)
    rows = []
    for group in dict.fromkeys(record.groups):
        others = np.flatnonzero(groups != group)
        if len(others) == 0:
            continue
        without = losses(others)
        members = tuple(np.array(record.names)[groups == group].tolist())
        change = float(shares @ (without - whole))
        error = float(np.sqrt(shares**2 @ (without - whole - change) ** 2))
        rows.append(AblationRow(group, members, told + change, change, error))
    rows.sort(key=lambda each: -each.change)
    return Ablation(told, tuple(rows))


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class PruningStep:
    """Remaining members, seconds for 100 rows, and log loss of the rows of the fitted weights."""

    members: tuple[str, ...]
    latency: float
    log_loss: float


def pruning_path(record: OutOfFold, seconds: dict[str, float], fusion: Fusion) -> list[PruningStep]:
    """Drop members one by one, each time the one with the least added loss per second saved.

    ``seconds`` are prediction times for 100 rows; members without one are dropped first.
    """

    def step(members: list[int]) -> PruningStep:
        names = tuple(record.names[k] for k in members)
        fused = record.fit_fusion(fusion, members).combine(record.outputs[members].astype(float))
        loss = mean_loss(record.target.reported_losses(fused, record.y), record.weights)
        return PruningStep(names, sum(seconds[name] for name in names), loss)

    left = [k for k, name in enumerate(record.names) if name in seconds]
    path = [step(left)]
    while len(left) > 1:
        options = [[each for each in left if each != k] for k in left]
        tried = [step(option) for option in options]
        now = path[-1]
        costs = [
            (each.log_loss - now.log_loss) / max(now.latency - each.latency, 1e-9) for each in tried
        ]
        best = int(np.argmin(costs))
        left = options[best]
        path.append(tried[best])
    return path
