"""Columns made of features, so that members see curves and products."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ensemblage.messages import expect, expect_array

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

# Bends of the linear spline: these shares of the rows lie below.
KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)
MOST_COLUMNS = 10_000
# A column that spreads less counts as constant.
SMALLEST_SCALE = 1e-6


class FeatureBasis(BaseEstimator):
    r"""Columns that stand for standardised features.

    "linear" leaves the features as they are. "quadratic" adds :math:`x_d^2` and the products
    :math:`x_d x_e`. "spline" adds :math:`\max(0, x_d - t)` for five quantiles :math:`t`, a
    curve of straight pieces. Features come first; all columns are standardised again.
    """

    def __init__(self, kind: str = "linear") -> None:
        self.kind = kind

    def fit(self, features: Floats, weights: Floats) -> Self:
        """Learn knots and scales from features, (n_features, n_rows); the weights add up to one."""
        self.n_features_ = len(features)
        self._check_width()
        if self.kind == "linear":
            return self
        self.knots_ = np.empty((0, self.n_features_), features.dtype)
        if self.kind == "spline":
            each = np.broadcast_to(weights, features.shape)
            knots = np.quantile(features, KNOTS, axis=1, method="inverted_cdf", weights=each)
            self.knots_ = knots.astype(features.dtype)
        columns = self._columns(features)
        mean = columns @ weights
        spread = np.sqrt(np.maximum((columns - mean[:, None]) ** 2 @ weights, 0.0))
        self.column_mean_ = mean.astype(features.dtype)
        self.column_scale_ = np.where(spread >= SMALLEST_SCALE, spread, 1.0).astype(features.dtype)
        return self

    def expand(self, features: Floats) -> Floats:
        """Columns of standardised features, (n_columns, n_rows)."""
        if self.kind == "linear":
            return features
        columns = self._columns(features)
        columns -= self.column_mean_[:, None]
        columns /= self.column_scale_[:, None]
        return columns

    def owners(self) -> tuple[Indices, Indices] | None:
        """Give each column's features, one twice or two; None where a column is a feature."""
        each = np.arange(self.n_features_)
        if self.kind == "linear":
            return None
        if self.kind == "spline":
            own = np.tile(each, 1 + len(KNOTS))
            return own, own
        first, second = np.triu_indices(self.n_features_)
        return np.concatenate([each, first]), np.concatenate([each, second])

    def seen_columns(self, supports: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Masks of columns, (..., n_columns), that follow from masks of features."""
        owners = self.owners()
        return supports if owners is None else supports[..., owners[0]] & supports[..., owners[1]]

    def n_columns(self) -> int:
        """Count the columns."""
        d = self.n_features_
        return {"linear": d, "spline": d * (1 + len(KNOTS)), "quadratic": d + d * (d + 1) // 2}[
            self.kind
        ]

    def _columns(self, features: Floats) -> Floats:
        if self.kind == "quadratic":
            first, second = np.triu_indices(len(features))
            return np.concatenate([features, features[first] * features[second]])
        bends = [np.maximum(features - knots[:, None], 0.0) for knots in self.knots_]
        return np.concatenate([features, *bends])

    def _check_width(self) -> None:
        if self.kind != "linear" and self.n_columns() > MOST_COLUMNS:
            raise ValueError(
                f"basis={self.kind!r} makes {self.n_columns()} columns of {self.n_features_} "
                f"features; {MOST_COLUMNS} are the most. Choose features first, or take "
                "basis='linear'."
            )

    def __check_state__(self) -> None:
        """Refuse scales that no fit makes."""
        expect(self.kind in {"linear", "quadratic", "spline"}, "kind is none of a basis")
        if self.kind != "linear":
            n_knots = len(KNOTS) if self.kind == "spline" else 0
            expect_array(self, "knots_", (n_knots, self.n_features_))
            expect_array(self, "column_mean_", (self.n_columns(),))
            expect_array(self, "column_scale_", (self.n_columns(),), low=SMALLEST_SCALE)
