"""An ensemble of regressors with one member per stratum."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import column_or_1d

from ensemblage.messages import DocLinkMixin, expect, expect_array, with_shared
from ensemblage.strata._given_source import mix_given, own_outputs, own_shares
from ensemblage.strata._intervals import (
    HeldOutScores,
    interval_factors,
    own_strata,
    own_variances,
    score_held_out,
)
from ensemblage.strata._last_word import AS_FUSED, LastWord, learn_last_word
from ensemblage.strata._strata_base import STRATA_DOCS, StrataEnsembleMixin
from ensemblage.strata._strata_choice import Trial, closest_strata
from ensemblage.strata._strata_recipe import REGRESSORS
from ensemblage.strata._strata_rows import Training
from ensemblage.strata._strata_targets import NumberTarget, read_numbers
from ensemblage.strata._stratum_members import Array
from ensemblage.tables import ENCODE_DOCS


@with_shared(STRATA_DOCS + ENCODE_DOCS)
class StrataEnsembleRegressor(StrataEnsembleMixin, RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""An ensemble of regressors whose members each learn one stratum of the rows.

    It finds strata of similar rows, fits a member on each, and fuses what the members say: not
    numbers alone, but normal densities, so that it tells how far it may be off.

    Parameters
    ----------
    {stratifier}
    estimator : regressor or list of regressors, default=None
        The member, or several kinds of member on each stratum; ridge regression on columns
        standardised within the stratum (:class:`ScaledRidge`) if not given.
    fusion : {"gate", "logpool", "stacking", "mean"} or Fusion, default="gate"
        How members' densities become one. ``"gate"`` mixes those of the members whose strata a row
        is close to; with an anchor, what the gate says is pooled with the anchor. ``"logpool"``
        is a product with learned importances.
    final_estimator : regressor, default=None
        The regressor that stacking fits on the members' predictions; ridge regression if not
        given.
    {membership}
    anchor : None, "svm", regressor or list of these, default=None
        Members that learn all rows beside the strata; ``"svm"`` is a lightly tuned RBF support
        vector regressor.
    {stratum_size, n_strata}
    cv : int, "in-sample", splitter or iterable, default=5
        Folds from which variances and fusion get outputs on rows that the members have not seen.
        The strata stay as they are. ``"in-sample"`` uses outputs on the training rows themselves:
        variances are then too small, and there are no intervals.
    {encode}
    {n_jobs}
    {random_state, max_member_rows}

    Attributes
    ----------
    target_scale_ : float
        Standard deviation of the target in training.
    {stratifier_}
    estimators_ : list of regressors
        Fitted members, one per stratum; of several kinds, kind by kind.
    anchors_ : list of regressors
        Fitted members on all rows.
    {fusion_}
    responses_ : list of {"predict", "predict_std"}
        What each member is asked for, anchors last; the second tells its spread, too.
    member_report_ : list of dict
        Per member: ``stratum`` (None for an anchor), ``estimator``, ``n_rows``, ``constant``,
        ``spread`` (root of its mean squared error) and ``score`` (its share of explained variance)
        on rows of its stratum that it had not seen, and ``weight`` (its share in the fusion, None
        where that differs by row).
    {feature_means_}
    source_pull_ : float
        How many rows of a source count as much as all members, where :class:`SourceStrata` are told
        the source at prediction.
    stratum_errors_ : list of float or None
        Root of the mean squared error on each stratum's rows, by membership, where neither
        members nor fusion had seen them; None where that is not known.
    {held_out_error_}
    anchor_, anchor_share_ : int, float
        The anchor with the least error, and its share beside what is fused: that with the least
        squared error on rows that neither members nor fusion had seen.
    spread_factor_, spread_floor_ : float
        By which the fused variance is multiplied, and what is added to it: as makes those rows most
        likely, so that the spread is no worse than one for all where it tells nothing.
    own_variances_ : ndarray of shape (n_strata,) or None
        Mean squared residual of each stratum's member on the rows closest to it; None where
        nothing was held out.
    held_out_scores_ : HeldOutScores or None
        Residuals of the rows held out, in units of the spread that was told, for intervals.
    told_scores_ : HeldOutScores or None
        The same where the source was told; None without sources.
    {stratum_size_, n_strata_, trials_, n_left_out_, member_sizes_}
    constant_strata_ : ndarray of int
        Strata with one value of the target only, whose member always says it.
    {encoder_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    StrataEnsembleClassifier : The same of classes.
    PartialPoolingRegressor : Where the source is known at prediction.

    Notes
    -----
    A member says a normal density: its prediction, and a variance learned from its residuals on
    rows that it had not seen (see :class:`~ensemblage.fusion.DensityGate` and
    :class:`~ensemblage.fusion.DensityPool`); a member whose ``predict`` takes ``return_std`` says
    its own, times a factor learned in the same way.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.strata import HISS, StrataEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StrataEnsembleRegressor(HISS(4, 0.5), random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X, coverage=0.9).T
    >>> bool(0.87 < ((low <= y) & (y <= high)).mean() < 0.95)
    True
    """

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _role = REGRESSORS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StrataEnsembleMixin._parameter_constraints,  # noqa: SLF001
        "fusion": [
            StrOptions({"gate", "logpool", "mean", "stacking"}),
            HasMethods(["fit", "combine"]),
        ],
    }

    def predict(self, X: Any, return_std: bool = False, sources: Any = None) -> Any:
        """Predict numbers, and how far they may be off.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Also give the standard deviation of what is predicted.
        sources : array-like of shape (n_samples,), default=None
            Where each row comes from, for :class:`SourceStrata`. A row whose source is missing or
            new is answered as if none had been given.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        mean, variance = self._scores(X, sources).T
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9, sources: Any = None) -> Array:
        r"""Give an interval that holds the truth for a share of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            The share of rows whose truth is to be inside, between 0 and 1.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``; the interval is then the source's own.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper bounds.

        Notes
        -----
        Conformal: the interval is :math:`\mu(x) \pm q\, s(x)`, with q such that a share of the
        residuals that had been held out, each in units of its :math:`s(x)`, is at most q. It is
        of the stratum that the row is closest to; all other rows count as much as twenty of its
        own. Where rows are too few for a coverage, q is the largest residual seen.
        """
        if not isinstance(coverage, Real) or isinstance(coverage, Integral | bool):
            raise TypeError(f"coverage={coverage!r} must be a number between 0 and 1, such as 0.9.")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must be between 0 and 1, such as 0.9.")
        mean, variance = self._scores(X, sources).T
        if self.held_out_scores_ is None:
            raise ValueError(
                f"Intervals need rows that were held out, and cv={self.cv!r} holds out none. "
                "Fit with folds, such as cv=5."
            )
        closest, given = self._strata_of(X, sources)
        reach = interval_factors(self.held_out_scores_, coverage)[closest]
        if self.told_scores_ is not None:
            own = interval_factors(self.told_scores_, coverage)
            reach = np.where(given >= 0, own[given], reach)
        half = reach * np.sqrt(variance)
        return np.column_stack([mean - half, mean + half])

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Share of the target's variance that is explained (R²).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``.

        Returns
        -------
        float
            1 at best; 0 is the constant mean.
        """
        said = self.predict(X, sources=sources)
        return float(r2_score(y, said, sample_weight=sample_weight))

    def _read_target(self, y: Any, weights: Array) -> tuple[NDArray[Any], NumberTarget]:
        return read_numbers(y, weights)

    def _keep_target(self, target: NumberTarget) -> None:
        self.target_scale_ = target.scale
        # as it stays where nothing is held out
        self.anchor_, self.anchor_share_, self.spread_factor_, self.spread_floor_ = AS_FUSED
        self.own_variances_: Array | None = None
        self.held_out_scores_: HeldOutScores | None = None
        self.told_scores_: HeldOutScores | None = None

    def _target(self) -> NumberTarget:
        return NumberTarget(self.target_scale_, self.own_variances_)

    def _prediction(self, fused: Array) -> float:
        return float(fused[0])

    def _row_losses(self, X: Any, y: Any) -> Array:
        return np.asarray((self.predict(X) - column_or_1d(y)) ** 2)

    def _learn_held_out(self, fused: Array, trial: Trial, data: Training) -> Array:
        known = np.flatnonzero(np.isfinite(fused).all(axis=1) & (data.weights > 0))
        if len(known) == 0:
            return fused
        outputs, y, weights = np.asarray(trial.outputs), data.y[known], data.weights[known]
        anchored = self._anchored(outputs)
        word = learn_last_word(fused[known], anchored[:, known], y, weights)
        self.anchor_, self.anchor_share_, self.spread_factor_, self.spread_floor_ = word
        self.own_variances_ = own_variances(outputs[:, known], trial, known, data)
        fused = word.say(fused, anchored)
        closest = closest_strata(trial.stratifier, data.X, in_training=True)
        self.held_out_scores_ = score_held_out(fused, known, closest, trial.n_strata, data)
        return fused

    def _learn_told(self, fused: Array, trial: Trial, data: Training) -> None:
        strata, outputs = own_strata(trial), np.asarray(trial.outputs)
        own = own_outputs(outputs, strata, trial.n_strata)
        shares = own_shares(self.member_sizes_.astype(float), self.source_pull_)
        told = mix_given(own, fused, strata, self._target(), shares)
        known = np.flatnonzero(np.isfinite(told).all(axis=1) & (data.weights > 0))
        if len(known) > 0:
            self.told_scores_ = score_held_out(told, known, strata, trial.n_strata, data)

    def _anchored(self, outputs: Array) -> Array:
        """Give the anchors' means."""
        return outputs[len(outputs) - len(self.anchors_) :, :, 0]

    def _last_word(self) -> LastWord:
        return LastWord(self.anchor_, self.anchor_share_, self.spread_factor_, self.spread_floor_)

    def _correct(self, fused: Array, outputs: Array) -> Array:
        return self._last_word().say(fused, self._anchored(outputs))

    def _correct_shares(self, shares: Array) -> Array:
        if self.anchor_share_ == 0:
            return shares
        shares = shares * (1 - self.anchor_share_)
        shares[:, len(self.estimators_) + self.anchor_] += self.anchor_share_
        return shares

    def __check_state__(self) -> None:
        """Refuse members and residuals that do not go together as those of a fit do."""
        super().__check_state__()
        expect(bool(0 < self.target_scale_ < np.inf), "target_scale_ is not above zero")
        expect(0 <= self.anchor_ < max(len(self.anchors_), 1), "anchor_ is none of the anchors")
        expect(0 <= self.anchor_share_ <= 1, "anchor_share_ is no share")
        spread = (self.spread_factor_, self.spread_floor_)
        sound = all(0 <= each < np.inf for each in spread) and max(spread) > 0
        expect(sound, "the spread is not above zero")
        if self.own_variances_ is not None:
            expect_array(self, "own_variances_", (self.n_strata_,), low=0)
        for scores in (self.held_out_scores_, self.told_scores_):
            known = scores is None or scores.n_strata == self.n_strata_
            expect(known, "scores are of other strata")
