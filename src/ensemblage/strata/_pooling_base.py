"""What regressions that sources share in part have in common, whatever they predict."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import warn_user
from ensemblage.parallel import Fold, draw_seeds
from ensemblage.strata._pooled_fit import Penalties
from ensemblage.strata._pooling_search import OWN, SHARED, Grid, SourcedRows, search_folds
from ensemblage.strata._source_codes import SourceCodes, number_sources

Doubles = NDArray[np.float64]


class Deviation(NamedTuple):
    """How much a source's coefficient differs from what sources have in common.

    Parameters
    ----------
    source : object
        The source.
    column : str
        The column's name, or ``x`` and its number.
    label : object
        The class whose log odds the coefficient raises; None where numbers are predicted.
    value : float
        The difference, in log odds or in units of the target, per unit of the column.
    low, high : float
        Bounds between which it lies with the probability asked for.
    """

    source: Any
    column: str
    label: Any
    value: float
    low: float
    high: float


class Scaling(NamedTuple):
    """Mean and spread of each column."""

    mean: Doubles
    scale: Doubles

    @classmethod
    def of(cls, X: Doubles, weights: Doubles) -> Scaling:
        mean = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return cls(mean, np.where(spread > 1e-12 * (np.abs(mean) + 1e-300), spread, 1.0))

    def rows(self, X: Doubles) -> Doubles:
        """Standardise, and put a one behind the columns."""
        return np.column_stack([(X - self.mean) / self.scale, np.ones(len(X))])

    def in_units(self, coefs: Doubles) -> tuple[Doubles, Doubles]:
        """Turn coefficients of standardised columns into those of the columns, and intercepts."""
        slopes = coefs[..., :-1] / self.scale
        return slopes, coefs[..., -1] - slopes @ self.mean


class PartialPoolingMixin:
    """Penalties, folds and the telling of deviations; the class says what is fitted."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shared_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "own_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "random_state": ["random_state"],
    }

    shared_penalty: Any
    own_penalty: Any
    cv: Any
    random_state: Any
    sources_: NDArray[Any]

    def _number(self, sources: Any, rows: Doubles) -> SourceCodes:
        """Give sources numbers; without them all rows count as one."""
        if sources is None:
            warn_user(
                f"{type(self).__name__} was fitted without sources: all rows count as one "
                "source. Pass fit(..., sources=...).",
            )
            sources = np.zeros(len(rows), dtype=int)
        return number_sources(sources, rows)

    def _given(self) -> Penalties | Grid:
        """Give the penalties that were given, or those to choose from."""
        given = (self.shared_penalty, self.own_penalty)
        if "auto" not in given:
            return Penalties(float(self.shared_penalty), float(self.own_penalty))
        shared, own = (None if each == "auto" else (float(each),) for each in given)
        return Grid(shared or SHARED, own or OWN)

    def _folds(self, data: SourcedRows) -> list[Fold]:
        if isinstance(self.cv, Integral):
            rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
            return search_folds(data, int(self.cv), rng)
        splitter = check_cv(self.cv, data.labels, classifier=self._of_classes)
        return [Fold(*parts) for parts in splitter.split(data.rows, data.labels, data.sources)]

    def deviations(self, false_discovery: float = 0.05) -> list[Deviation]:
        """Name the coefficients in which a source truly differs from the others.

        Parameters
        ----------
        false_discovery : float, default=0.05
            Expected share of those named that do not differ (Benjamini and Hochberg).

        Returns
        -------
        list of Deviation
            The surest first; bounds hold with a probability of 95 % each.
        """
        check_is_fitted(self)
        values, sd, labels = self._differences()
        sd = np.where(sd > 0, sd, np.inf)
        sure = norm.sf(np.abs(values) / sd) * 2
        order = np.argsort(sure, axis=None, kind="stable")
        limits = false_discovery * np.arange(1, sure.size + 1) / sure.size
        below = np.flatnonzero(sure.ravel()[order] <= limits)
        n_named = int(below[-1]) + 1 if len(below) else 0
        columns = getattr(self, "feature_names_in_", None)
        half = norm.ppf(0.975) * sd
        named = []
        for s, k, j in zip(*np.unravel_index(order[:n_named], sure.shape), strict=True):
            value, margin = float(values[s, k, j]), float(half[s, k, j])
            column = f"x{j}" if columns is None else str(columns[j])
            source, label = self.sources_.tolist()[s], labels[k]
            bounds = (value - margin, value + margin)
            named.append(Deviation(source, column, label, value, *bounds))
        return named

    _of_classes: ClassVar[bool]

    def _differences(self) -> tuple[Doubles, Doubles, list[Any]]:
        """Give deviations and their spreads, (n_sources, n_labels, n_features), and the labels."""
        raise NotImplementedError  # look: ok
