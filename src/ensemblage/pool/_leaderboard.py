"""What out-of-fold predictions tell: leaderboard, ablation, pruning path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from ensemblage.pool._member_spec import PoolRows, thin
from ensemblage.pool._targets import PoolClasses, PoolNumbers, PoolTarget, mean_loss

if TYPE_CHECKING:
    from ensemblage.pool._fit import Verdict


Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


COLUMNS = (
    Heading("member"),
    Heading("place"),
    Heading("log loss", numeric=True, greater_is_better=False),
    Heading("accuracy", numeric=True, greater_is_better=True),
    Heading("weight", numeric=True),
    Heading("fit, s", numeric=True),
    Heading("predict, ms", numeric=True),
    Heading("rows", numeric=True),
)
NUMBER_COLUMNS = (
    *COLUMNS[:3],
    Heading("RMSE", numeric=True, greater_is_better=False),
    *COLUMNS[4:],
)
NUMBER_LEGEND = (
    "Log loss, minus the mean logarithm of the density, and the root of the mean squared error are "
    "on rows that a member has not seen; a member's log loss is at its best spread. place: where a "
    "member differs on purpose; an anchor is a usual method. fit: seconds of all fits. predict: "
    "milliseconds for 100 rows."
)
LEGEND = (
    "Log loss and accuracy are on rows that a member has not seen; a member's are its own, at its "
    "best temperature. place: where a member differs on purpose; an anchor is a usual method. fit: "
    "seconds of all fits. predict: milliseconds for 100 rows."
)


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Standing:
    """One line of a leaderboard.

    Parameters
    ----------
    member : str
        Its name; ``"pool"`` for all together.
    place : str
        Where its diversity is: ``"rows"``, ``"columns"``, ``"decisions"``; ``"anchor"`` for a
        member of the usual kind, ``"given"`` for a user's own.
    log_loss, accuracy : float
        On rows that it has not seen, at its best temperature.
    weight : float or None
        Share of its influence on the pool; None where the fusion has no such number.
    fit_seconds : float
        Of all its fits.
    predict_seconds : float or None
        For 100 rows; None for a member that is not needed, and was not fitted to all rows.
    rows : int
        How many rows it has learned.
    """

    member: str
    place: str
    log_loss: float
    accuracy: float
    weight: float | None
    fit_seconds: float
    predict_seconds: float | None
    rows: int


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class NumberStanding:
    """One line of a leaderboard of regressors.

    Parameters
    ----------
    member : str
        Its name; ``"pool"`` for all together.
    place : str
        Where its diversity is: ``"rows"``, ``"decisions"``; ``"anchor"`` for a member of the usual
        kind, ``"given"`` for a user's own.
    log_loss : float
        Minus the mean logarithm of the density that it gives to rows that it has not seen, at its
        best spread.
    rmse : float
        Root of its mean squared error on these rows, in the target's units.
    weight : float or None
        Share of its influence on the pool; None where the fusion has no such number.
    fit_seconds : float
        Of all its fits.
    predict_seconds : float or None
        For 100 rows; None for a member that is not needed, and was not fitted to all rows.
    rows : int
        How many rows it has learned.
    """

    member: str
    place: str
    log_loss: float
    rmse: float
    weight: float | None
    fit_seconds: float
    predict_seconds: float | None
    rows: int


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Leaderboard(Sequence[Any]):
    """A pool's members by what they are worth, to be printed, or read line by line.

    Parameters
    ----------
    standings : tuple of Standing or of NumberStanding
        The pool, then its members by log loss.
    left_out : tuple of str
        A sentence for each member that is not in the pool, and why.
    note : str, default=""
        Which other pool answers some of the rows.

    Examples
    --------
    >>> from ensemblage.pool import Leaderboard, Standing
    >>> board = Leaderboard((Standing("svm", "anchor", 0.21, 0.9, 1.0, 0.5, 0.001, 400),))
    >>> board[0].member
    'svm'
    """

    standings: tuple[Standing | NumberStanding, ...]
    left_out: tuple[str, ...] = ()
    note: str = ""

    def __len__(self) -> int:
        return len(self.standings)

    def __getitem__(self, index: Any) -> Any:
        return self.standings[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.standings)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            A line per member, the best figures marked.
        """
        numbers = any(isinstance(each, NumberStanding) for each in self.standings)
        columns, legend = (NUMBER_COLUMNS, NUMBER_LEGEND) if numbers else (COLUMNS, LEGEND)
        rows = mark_best(columns, [_fields(each) for each in self.standings])
        told = " ".join([legend, *self._sentences])
        return TableBlock(columns, rows, "The pool and its members", told)

    def __str__(self) -> str:
        return "\n".join([text_table(self.as_table()), *self._sentences])

    @property
    def _sentences(self) -> list[str]:
        return [*self.left_out, *([self.note] if self.note else [])]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())

    def _check_fitted(self) -> None:
        """Refuse lines that are none."""
        expect(isinstance(self.standings, tuple), "standings is no tuple")
        for each in self.standings:
            expect(isinstance(each, Standing | NumberStanding), "a line is none")
            score = "accuracy" if isinstance(each, Standing) else "rmse"
            expect_fitted(each, {**OF_ALL, score: "real"})
        told = isinstance(self.left_out, tuple) and isinstance(self.note, str)
        expect(told and all(isinstance(each, str) for each in self.left_out), "a note is none")


OF_ALL = {
    "member": "word",
    "place": "word",
    "log_loss": "real",
    "weight": "optional real",
    "fit_seconds": "real",
    "predict_seconds": "optional real",
    "rows": "count",
}


def _fields(standing: Standing | NumberStanding) -> list[Field]:
    predict = standing.predict_seconds
    if isinstance(standing, NumberStanding):
        score = Field(write_number(standing.rmse), standing.rmse)
    else:
        score = number_field(standing.accuracy, 3)
    return [
        Field(standing.member),
        Field(standing.place),
        number_field(standing.log_loss, 4),
        score,
        share_field(standing.weight),
        number_field(standing.fit_seconds, 2),
        number_field(None if predict is None else 1000 * predict, 1),
        count_field(standing.rows),
    ]


MOST_KEPT = 20_000
N_FOLDS = 5


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class HeldOutRecord:
    """Outputs of all members that were tried, and of the pool, on rows that they had not seen.

    Parameters
    ----------
    names, places : tuple of str
        Of the members.
    outputs : ndarray of shape (n_members, n_rows, n_outputs)
        What they said: probabilities of the classes, or decision values of those that have none; of
        a number, its mean and its variance.
    pooled : ndarray of shape (n_rows, n_outputs)
        What pools said that had not seen the row either.
    y : ndarray of shape (n_rows,)
        Class numbers, or the numbers themselves.
    rows : ndarray of shape (n_rows,)
        Their positions among the rows of ``fit``; 20,000 at most are kept.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    outputs: NDArray[Any]
    pooled: NDArray[Any]
    y: NDArray[Any]
    rows: Indices
    weights: Doubles | None

    @property
    def target(self) -> PoolTarget:
        """What is predicted: numbers, if ``y`` is of floats."""
        if self.y.dtype.kind == "f":
            return PoolNumbers(float(self.y.std()))
        return PoolClasses(np.arange(self.outputs.shape[2]))


def keep_held_out(verdict: Verdict, pooled: Doubles, rows: PoolRows) -> HeldOutRecord:
    """Keep what is known, of 20,000 rows at most."""
    kept = thin(np.arange(len(verdict.known)), rows.labels[verdict.known], MOST_KEPT, 0)
    numbers = verdict.known[kept]
    return HeldOutRecord(
        tuple(each.recipe.name for each in verdict.candidates),
        tuple(each.recipe.place for each in verdict.candidates),
        verdict.outputs[:, kept].astype(rows.target.kept_as),
        pooled[kept].astype(rows.target.kept_as),
        rows.y[numbers],
        numbers if rows.numbers is None else rows.numbers[numbers],
        rows.weights_at(numbers),
    )


def fused_again(record: HeldOutRecord, fusion: Fusion, members: Any) -> Doubles:
    """Give what a pool of some members says of each row, fused as rows of other folds teach."""
    outputs = record.outputs[np.asarray(members, dtype=int)].astype(float)
    y, weights = record.y, record.weights
    folds = deal_folds(record.target.stratification_labels(y), N_FOLDS, np.random.default_rng(0))
    numeric = not record.target.is_classification
    fused = cross_val_combine(
        clone(fusion), outputs, y, folds, numeric=numeric, sample_weight=weights
    )
    lacking = np.isnan(fused).any(axis=1)
    if lacking.any():
        fitted = clone(fusion).fit(outputs, y, numeric=numeric, sample_weight=weights)
        fused[lacking] = fitted.combine(outputs[:, lacking])
    return fused


def row_losses(record: HeldOutRecord, fusion: Fusion, members: Any) -> Doubles:
    """Log loss of each row in such a pool."""
    return record.target.row_losses(fused_again(record, fusion, members), record.y)


def weighted_mean(record: HeldOutRecord, values: Doubles) -> float:
    """Average over the rows, by their weights."""
    return mean_loss(values, record.weights)


ABLATION_COLUMNS = (
    Heading("without"),
    Heading("members"),
    Heading("log loss", numeric=True),
    Heading("change", numeric=True),
    Heading("standard error", numeric=True),
)
ABLATION_LEGEND = (
    "Log loss of the pool on rows that it has not seen, fused again with all members and without "
    "each place of diversity; a change above zero is what the place is worth. Members are not "
    "fitted again. These fusions learn from five folds of the rows, so that the first line need "
    "not be what the leaderboard says."
)


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Contribution:
    """What a pool loses without one place of diversity.

    Parameters
    ----------
    place : str
        The place: ``"rows"``, ``"columns"``, ``"decisions"``, ``"anchor"`` or ``"given"``.
    members : tuple of str
        The members that are left out.
    log_loss : float
        Of the pool without them, on rows that it has not seen.
    change : float
        How much more that is than with them.
    standard_error : float
        Of the change, over the rows.
    """

    place: str
    members: tuple[str, ...]
    log_loss: float
    change: float
    standard_error: float


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Contributions(Sequence[Contribution]):
    """Contributions of all places, to be printed, or read line by line.

    Parameters
    ----------
    log_loss : float
        Of the whole pool, on rows that it has not seen.
    places : tuple of Contribution
        The most valuable first.

    Examples
    --------
    >>> from ensemblage.pool import Contribution, Contributions
    >>> rows = Contribution("rows", ("strata",), 0.31, 0.01, 0.004)
    >>> Contributions(0.3, (rows,))[0].place
    'rows'
    """

    log_loss: float
    places: tuple[Contribution, ...]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        return self.places[index]

    def __iter__(self) -> Iterator[Contribution]:
        return iter(self.places)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            The whole pool, then a line per place.
        """
        whole = [Field("nothing"), Field(""), number_field(self.log_loss, 4), Field(""), Field("")]
        rows = [
            [
                Field(each.place),
                Field(", ".join(each.members)),
                number_field(each.log_loss, 4),
                signed_field(each.change, 4),
                number_field(each.standard_error, 4),
            ]
            for each in self.places
        ]
        return TableBlock(
            ABLATION_COLUMNS, [whole, *rows], "What each place contributes", ABLATION_LEGEND
        )

    def __str__(self) -> str:
        return text_table(self.as_table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())


def leave_places_out(record: HeldOutRecord, fusion: Fusion) -> Contributions:
    """Fuse again without each place in turn; a place without which nobody is left is skipped."""
    places = np.array(record.places)
    whole = row_losses(record, fusion, np.arange(len(places)))
    lines = []
    for place in dict.fromkeys(record.places):
        others = np.flatnonzero(places != place)
        if len(others) == 0:
            continue
        without = row_losses(record, fusion, others)
        members = tuple(np.array(record.names)[places == place].tolist())
        change, error = _mean_and_error(without - whole, record.weights)
        lines.append(Contribution(place, members, weighted_mean(record, without), change, error))
    lines.sort(key=lambda each: -each.change)
    return Contributions(weighted_mean(record, whole), tuple(lines))


def _mean_and_error(values: Any, weights: Any) -> tuple[float, float]:
    """Weighted mean of rows' values, and its standard error."""
    shares = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    mean = float(shares @ values)
    return mean, float(np.sqrt(shares**2 @ (values - mean) ** 2))


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class PrunedPool:
    """A point on the way from all members to one.

    Parameters
    ----------
    members : tuple of str
        Those that are left.
    latency : float
        Seconds for 100 rows.
    log_loss : float
        On rows that they have not seen.

    Examples
    --------
    >>> from ensemblage.pool import PrunedPool
    >>> PrunedPool(("svm",), 0.002, 0.3).members
    ('svm',)
    """

    members: tuple[str, ...]
    latency: float
    log_loss: float


def frontier(record: HeldOutRecord, seconds: dict[str, float], fusion: Fusion) -> list[PrunedPool]:
    """Drop members one by one, each time the one that costs the least loss per second saved.

    ``seconds`` of each fitted member for 100 rows; the others are not there to begin with.
    """
    left = [k for k, name in enumerate(record.names) if name in seconds]
    points = [_point(left, record, seconds, fusion)]
    while len(left) > 1:
        options = [[each for each in left if each != k] for k in left]
        tried = [_point(option, record, seconds, fusion) for option in options]
        now = points[-1]
        prices = [
            (each.log_loss - now.log_loss) / max(now.latency - each.latency, 1e-9) for each in tried
        ]
        best = int(np.argmin(prices))
        left, point = options[best], tried[best]
        points.append(point)
    return points


def _point(
    members: list[int], record: HeldOutRecord, seconds: dict[str, float], fusion: Fusion
) -> PrunedPool:
    names = tuple(record.names[k] for k in members)
    outputs = record.outputs[members].astype(float)
    fused = fuse_again(record, names, fusion).combine(outputs)
    loss = mean_loss(record.target.row_losses(fused, record.y), record.weights)
    return PrunedPool(names, sum(seconds[name] for name in names), loss)


def fuse_again(record: HeldOutRecord, names: Sequence[str], fusion: Fusion) -> Fusion:
    """Fit a fusion to what some members said of rows that they had not seen."""
    members = [record.names.index(name) for name in names]
    outputs = record.outputs[members].astype(float)
    fitted: Fusion = clone(fusion).fit(
        outputs,
        record.y,
        numeric=not record.target.is_classification,
        sample_weight=record.weights,
    )
    return fitted
