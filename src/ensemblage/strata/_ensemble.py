"""Ensembles with one member on each stratum."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    HasMethods,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    final_step,
    fit_context,
    fit_progress,
    guarded_fit,
    read_weights,
    rows_at_final_step,
    set_module,
    set_seed,
    warn_user,
    with_callbacks,
    with_shared,
)
from ensemblage.blocks import is_source
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin
from ensemblage.fusion import (
    AffinityGate,
    FusionContext,
    LocalCompetence,
    LogLinearPool,
    SourcedClassifierMixin,
)
from ensemblage.strata._describe import StrataDescription, describe_strata
from ensemblage.strata._hiss import HISS
from ensemblage.strata._large_rows import fit_large
from ensemblage.strata._members import (
    EnsembleParts,
    StrataFit,
    candidate_settings,
    fit_members,
    fusion_context,
    is_mixed_frame,
    log_affinity,
    predict_members,
    report_members,
    resolve_parts,
    search_strata,
)
from ensemblage.strata._targets import (
    DEFAULT_SHRINKAGE,
    ClassTarget,
    NumericTarget,
    OutputCorrection,
    Target,
    Training,
    conformal_factors,
    conformity_scores,
    fit_output_correction,
    fit_source_shrinkage,
    mean_losses,
    own_member_weights,
    own_outputs,
    stratum_variances,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

# one memory layout, so that a frame and an array of the same values give bit-identical results
ARRAY_CHECKS = {"dtype": [np.float64, np.float32], "order": "C"}
ENTRIES_PER_MEMBER: dict[Any, str] = {
    AffinityGate: "variance_factors_",
    LocalCompetence: "right_",
    LogLinearPool: "weights_",
}
"""Attribute with an entry per member, by type of fusion."""
FITTED = {
    "response_methods_": "strings (members)",
    "member_sizes_": "integer (strata) 0..",
    "constant_strata_": "integer (*) 0..<strata",
    "n_without_fold_": "count",
    "feature_means_": "float (columns)",
    "source_shrinkage_": "number 0..",
    "stratum_errors_": "list (strata)",
    "out_of_fold_error_": "optional number",
    "member_report_": "list (*)",
    "trials_": "list (*)",
}

STRATA_DOCS = """
stratifier : stratifier, default=None
    Divides the rows into strata: :class:`HISS`, :class:`MixtureStrata`, :class:`BootstrapStrata`,
    :class:`SourceStrata`, a pipeline that ends in one, or your own with the same interface. By
    default HISS, with the size chosen by cross-validation.
final_estimator : estimator, default=None
    Fitted by stacking on the members' outputs; by default logistic or ridge regression.
membership : {"hard", "soft"}, default="hard"
    Fit a member on the rows with the highest memberships, as many as the stratum's size, or on
    all rows with the memberships as sample weights.
anchor : None, "svm", estimator or list of these, default=None
    Members fitted on all rows, beside those of the strata; ``"svm"`` is an RBF support vector
    machine tuned on a small grid.
stratum_size : float, "auto" or None, default=None
    Sets the stratifier's parameter. ``"auto"`` chooses from 0.05, 0.1, 0.2 and 0.4 by the
    out-of-fold error. None keeps the stratifier's own; without a stratifier, it means ``"auto"``.
n_strata : int, "auto" or None, default=None
    Sets the stratifier's parameter; ``"auto"`` chooses from 10, 20 and 40. None keeps the
    stratifier's own; without a stratifier, it means 20, or fewer for few rows.
n_jobs : int, default=None
    Number of members fitted in parallel, by joblib.
random_state : int, RandomState instance or None, default=None
    For the strata, the members and the folds.
max_member_rows : int, default=10000
    Maximum number of rows per member for rows on disk or on a cluster, drawn from its stratum by
    membership; no limit for arrays and dataframes.
stratifier_ : stratifier
    Fitted; for rows on disk or on a cluster ``memberships_`` are those of the sampled rows.
estimators_ : list of estimators
    Fitted members, one per stratum; with several estimators, ordered by estimator.
anchors_ : list of estimators
    Fitted members on all rows.
fusion_ : Fusion
    Fitted.
feature_means_ : ndarray of shape (n_features_in_,) or None
    Column means of the training rows; None if columns are not all numeric.
source_shrinkage_ : float
    Shrinkage towards the fused prediction where the source is known at prediction
    (:class:`SourceStrata`): its own member has the weight n / (n + shrinkage) for n rows.
stratum_errors_ : list of float or None
    Out-of-fold error rate, or RMSE of a numeric target, of each stratum, weighted by membership;
    None where not known.
out_of_fold_error_ : float or None
    Out-of-fold error on all training rows in a test fold. Where size or number of the strata are
    chosen, they are chosen without the row's fold.
constant_strata_ : ndarray of int
    Strata with a single class or a single value of the target, whose member is constant.
stratum_size_, n_strata_ : float, int or None
    Chosen or given values.
trials_ : list of dict
    Settings tried and their out-of-fold errors, of which the smallest is optimistic: see
    ``out_of_fold_error_``.
n_without_fold_ : int
    Number of training rows in no test fold, on which the fusion is not fitted.
member_sizes_ : ndarray of shape (n_strata,)
    Number of rows that each member is fitted on.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


def fit_with_out_of_fold(ensemble: Any, X: Any, y: Any, sample_weight: Any = None) -> Doubles:
    """Fit an ensemble; give its out-of-fold outputs, (n_samples, n_outputs).

    The fusion is cross-fitted too, on the members' out-of-fold outputs. A row in no test fold has
    NaN.
    """
    fused: Doubles | None = ensemble._fit_in_memory(X, y, sample_weight)  # noqa: SLF001
    if fused is None:
        raise ValueError(
            f"fusion={ensemble.fusion!r} with cv={ensemble.cv!r} uses no folds, so there are no "
            "out-of-fold outputs. Use a fusion that is fitted, and cv=5."
        )
    return fused


class StrataEnsembleMixin(EncodeMixin, CallbackSupportMixin, metaclass=ABCMeta):
    """Find strata, fit a member on each, and fuse the members' outputs."""

    _target_type: ClassVar[type[ClassTarget | NumericTarget]]

    # groups of an outer cross-validation apply to the inner folds too, without a request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "stratifier": [HasMethods(["fit", "transform"]), None],
        "estimator": [HasMethods(["fit", "predict"]), list, tuple, None],
        "fusion": [
            StrOptions({"gate", "log_linear", "mean", "stacking", "vote"}),
            HasMethods(["fit", "combine"]),
        ],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "membership": [StrOptions({"hard", "soft"})],
        "anchor": [HasMethods(["fit", "predict"]), str, list, tuple, None],
        "stratum_size": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"}), None],
        "n_strata": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"in-sample"}), "cv_object"],
        "encode": ENCODE_CONSTRAINT,
        "max_member_rows": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stratifier: Any = None,
        estimator: Any = None,
        *,
        fusion: Any = "gate",
        final_estimator: Any = None,
        membership: str = "hard",
        anchor: Any = None,
        stratum_size: Any = None,
        n_strata: Any = None,
        cv: Any = 5,
        encode: Any = "auto",
        max_member_rows: int = 10_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.stratifier = stratifier
        self.estimator = estimator
        self.fusion = fusion
        self.final_estimator = final_estimator
        self.membership = membership
        self.anchor = anchor
        self.stratum_size = stratum_size
        self.n_strata = n_strata
        self.cv = cv
        self.encode = encode
        self.max_member_rows = max_member_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    # prefer_skip_nested_validation=False: stratifier and members validate their own parameters
    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        sources: Any = None,
    ) -> Self:
        """Find the strata, fit a member on each, and fit the fusion.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features), path or Dask collection
            Training rows. Categories, dates and missing values are encoded, unless the stratifier
            or a member is a pipeline or supports categories: then a dataframe is passed on
            unchanged. For rows on disk or on a cluster (:func:`ensemblage.blocks.open_blocks`)
            strata are found on all rows, and members are fitted on at most ``max_member_rows``.
        y : array-like of shape (n_samples,)
            Target: classes, or a numeric target for the regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are ignored.
        groups : array-like of shape (n_samples,), default=None
            Groups for the folds: out-of-fold outputs of a row come from members fitted without its
            group. Pass the sources here if predictions are for new sources. With metadata routing,
            groups passed to ``cross_validate`` or a search with a group-wise ``cv`` are routed here
            without a request.
        sources : array-like of shape (n_samples,), default=None
            Source of each row, for a stratifier that takes it (:class:`SourceStrata`); if the
            source is also known at prediction, its own member has more weight.

        Returns
        -------
        self : object
            Fitted ensemble.
        """
        if is_source(X):
            fit_large(self, X, y, sample_weight, sources=sources, groups=groups)
        else:
            self._fit_in_memory(X, y, sample_weight, groups, sources)
        return self

    @with_callbacks
    def _fit_in_memory(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        sources: Any = None,
        fitted_stratifier: Any = None,
    ) -> Doubles | None:
        """Fit; give the fused out-of-fold outputs, if there are folds.

        A stratifier that is already fitted is not refitted.
        """
        searches = fitted_stratifier is None and self._searches_sizes()
        parts = self._resolve_parts(X, weighted=sample_weight is not None)
        strata_seed, member_seed, fold_seed, fusion_seed = draw_seeds(self.random_state, 4)
        parts = parts._replace(fusion=set_seed(clone(parts.fusion), fusion_seed))
        data = self._read_training(X, y, sample_weight, groups, sources)
        if searches or (parts.requires_fit and not isinstance(self.cv, str)):
            data = data.with_folds(5 if isinstance(self.cv, str) else self.cv, fold_seed)
        settings: list[dict[str, Any]] = [{}]
        stratifier = fitted_stratifier
        if stratifier is None:
            stratifier = clone(HISS() if self.stratifier is None else self.stratifier)
            settings = candidate_settings(
                final_step(stratifier), self.stratum_size, self.n_strata, len(data.y),
                free=self.stratifier is None,
            )  # fmt: skip
        stratifier = set_seed(stratifier, strata_seed)
        with fit_progress(self, "setting", len(settings) + 1) as step:
            strata, tried = search_strata(
                data, stratifier, parts, settings, seed=fold_seed, n_jobs=self.n_jobs, step=step
            )
            members = fit_members(strata.tasks, data, member_seed, self.n_jobs)
            step()
        self.trials_ = [{**each.settings, "error": each.error} for each in tried]
        self.fusion_ = parts.fusion
        self._store_members(strata, members, n_anchors=len(parts.anchors), data=data)
        self._fit_fusion(strata, members, data)
        self._fit_after_fusion(strata.fused, strata, members, data)
        return strata.fused

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, sources: Any = None
    ) -> Training:
        """Validate the arguments of ``fit``; set number and names of the columns."""
        if is_mixed_frame(X) and self._encoder_for(X) is None:
            validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = self._training_rows(X, y, sample_weight, **ARRAY_CHECKS, ensure_min_samples=2)
        check_consistent_length(X, sources, groups)
        weights: Doubles = read_weights(sample_weight, X)
        y, target = self._target_type.read(y, weights)
        given = None if sample_weight is None else weights
        return Training(X, y, target, weights, given, sources, groups)

    def _read_rows(self, X: Any) -> Any:
        """Validate rows to predict; without an encoder, a frame with categories is unchanged."""
        if is_mixed_frame(X) and not hasattr(self, "encoder_"):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        return self._new_rows(X, **ARRAY_CHECKS)

    def _encoder_for(self, X: Any) -> Any:
        parts = [self.stratifier]
        for given in (self.estimator, self.anchor) if self.encode == "auto" else ():
            parts += given if isinstance(given, list | tuple) else [given]
        for each in parts if self.encode == "auto" else ():
            if each is None or isinstance(each, str):
                continue
            tags = get_tags(each).input_tags
            if isinstance(each, Pipeline) or tags.string or tags.categorical:
                return None
        return super()._encoder_for(X)

    def _searches_sizes(self) -> bool:
        """Whether number or size of the strata are chosen by cross-validation."""
        free = self.stratifier is None and self.stratum_size is None
        return free or "auto" in (self.stratum_size, self.n_strata)

    def _resolve_parts(self, X: Any = None, *, weighted: bool = False) -> EnsembleParts:
        return resolve_parts(
            self._target_type,
            self.estimator,
            self.anchor,
            self.fusion,
            final_estimator=self.final_estimator,
            X=X if X is None or self._encoder_for(X) is None else None,
            soft=self.membership == "soft",
            weighted=weighted,
        )

    def _store_members(
        self, strata: StrataFit, members: list[Any], n_anchors: int, data: Training
    ) -> None:
        self.stratifier_, self.n_strata_ = strata.stratifier, int(strata.memberships.shape[1])
        self.stratum_size_ = strata.settings.get("stratum_size")
        n_own = len(members) - n_anchors
        self.estimators_, self.anchors_ = members[:n_own], members[n_own:]
        self.response_methods_ = [task.response_method for task in strata.tasks]
        self.member_sizes_ = np.array([len(task.rows) for task in strata.tasks[: self.n_strata_]])
        self.feature_means_ = None
        if isinstance(data.X, np.ndarray):
            self.feature_means_ = np.average(data.X, axis=0, weights=data.weights)

    def _fit_fusion(self, strata: StrataFit, members: list[Any], data: Training) -> None:
        self.n_without_fold_ = 0
        numeric, outputs = not data.target.is_classification, strata.outputs
        requires_fit = self.fusion_.requires_fit(numeric=numeric)
        if isinstance(self.cv, str) and requires_fit:
            outputs = predict_members(members, self.response_methods_, data.X, data.target)
        usable = data.weights > 0
        if outputs is not None and requires_fit:
            known = np.isfinite(outputs).all(axis=(0, 2))
            self.n_without_fold_ = int((~known).sum())
            usable &= known
        rows = np.flatnonzero(usable)
        self.fusion_.fit(
            None if outputs is None else outputs[:, rows],
            data.y[rows],
            strata.context.take(rows),
            numeric=numeric,
            sample_weight=None if data.sample_weight is None else data.weights[rows],
        )

    def _fit_after_fusion(
        self, fused: Doubles | None, strata: StrataFit, members: list[Any], data: Training
    ) -> None:
        """Fit corrections to fused out-of-fold outputs; report strata and members; warn."""
        fused = self._fit_correction(fused, strata, data)
        self.source_shrinkage_ = DEFAULT_SHRINKAGE
        if data.sources is not None:
            self.source_shrinkage_ = fit_source_shrinkage(fused, strata, data, self._target())
            self._fit_source_scores(fused, strata, data)
        losses = np.full(len(data.y), np.nan)
        if fused is not None:
            known = np.isfinite(fused).all(axis=1)
            losses[known] = data.target.losses(fused[known], data.y[known])
        self.stratum_errors_, self.out_of_fold_error_ = mean_losses(
            losses, strata.memberships, data.target.error_from_loss
        )
        weights = self.fusion_.member_weights(len(members))
        if weights is not None:
            weights = np.ravel(self._correct_weights(weights[None]))
        self.member_report_ = report_members(strata.tasks, members, strata.outputs, data, weights)
        constant = [report["constant"] for report in self.member_report_[: self.n_strata_]]
        self.constant_strata_ = np.flatnonzero(constant)
        if len(self.constant_strata_) > 0:
            warn_user(
                f"{len(self.constant_strata_)} of {len(constant)} strata hold "
                f"{data.target.constant_stratum_warning}",
            )

    @abstractmethod
    def _target(self) -> Target:
        """Target with its fitted attributes."""

    @abstractmethod
    def _fit_correction(
        self, fused: Doubles | None, strata: StrataFit, data: Training
    ) -> Doubles | None:
        """Set attributes of the target; fit a correction of fused outputs and apply it."""

    def _fit_source_scores(self, fused: Doubles | None, strata: StrataFit, data: Training) -> None:
        """Fit what is needed for sources known at prediction."""

    def _correct(self, fused: Doubles, outputs: Doubles) -> Doubles:
        """Correct fused outputs, given those of the members."""
        return fused

    def _correct_weights(self, weights: Doubles) -> Doubles:
        """Correct the members' weights, (n_rows, n_members), accordingly."""
        return weights

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        _, outputs, context = self._member_outputs(X)
        fused, target = self.fusion_.combine(outputs, context), self._target()
        if not target.is_classification:
            fused = self._correct(fused, outputs)
        if sources is None:
            return fused
        strata = self._strata_of_sources(sources, len(fused))
        if not target.can_mix(fused, self.response_methods_[: len(self.estimators_)]):
            raise ValueError(
                "sources were given, but members or fusion have no probabilities. Omit sources, "
                "or use members with predict_proba."
            )
        known = np.flatnonzero(strata >= 0)
        own = own_outputs(outputs[:, known], strata[known], self.n_strata_)
        fused[known] = self._mix_own_member(own, fused[known], strata[known], target)
        return fused

    def _mix_own_member(
        self, own: Doubles, fused: Doubles, strata: Indices, target: Target
    ) -> Doubles:
        """Mix outputs of the member of each row's own stratum with the fused ones."""
        weights = own_member_weights(self.member_sizes_.astype(float), self.source_shrinkage_)
        return target.mix(target.own_member_output(own, strata), fused, weights[strata])

    def _strata_of_sources(self, sources: Any, n_rows: int) -> Indices:
        """Look up the strata of the rows' sources, -1 for unknown sources."""
        last = final_step(self.stratifier_)
        if not hasattr(last, "strata_of_sources"):
            raise ValueError(
                f"sources were given, but {type(last).__name__} does not support them. Omit "
                "sources, or use SourceStrata."
            )
        return np.asarray(last.strata_of_sources(sources, n_rows))

    def _member_outputs(self, X: Any) -> tuple[Any, Doubles, FusionContext]:
        """Give validated rows, outputs (n_members, n_samples, n_outputs), and the context."""
        check_is_fitted(self)
        X = self._read_rows(X)
        members = [*self.estimators_, *self.anchors_]
        outputs = predict_members(members, self.response_methods_, X, self._target())
        return X, outputs, fusion_context(self.stratifier_, X, self.fusion_.needs)

    def describe_strata(self, X: Any, y: Any = None, *, table: Any = None) -> StrataDescription:
        """Describe each stratum by the columns in which it differs most from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as in ``predict``; preferably the training rows.
        y : array-like of shape (n_samples,), default=None
            Their target, for errors on these rows. By default errors are the out-of-fold errors of
            the training rows, if available.
        table : dataframe or array-like of shape (n_samples, n_columns), default=None
            The same rows before encoding, in their original units and categories; by default X.

        Returns
        -------
        StrataDescription
            Names, sizes, errors and differences; prints as a table.

        See Also
        --------
        describe_strata : Description of strata given by any memberships.
        """
        check_is_fitted(self)
        memberships = np.asarray(self.stratifier_.transform(self._read_rows(X)), dtype=float)
        names = getattr(final_step(self.stratifier_), "stratum_names_", None)
        described = describe_strata(X if table is None else table, memberships, labels=names)
        target = self._target()
        of_classes = target.is_classification
        if y is None:
            errors = self.stratum_errors_, self.out_of_fold_error_
            return described.with_errors(*errors, "out-of-fold", is_classification=of_classes)
        predicted, true = self.predict(X), column_or_1d(y)
        losses = predicted != true if of_classes else (predicted - true) ** 2
        errors = mean_losses(losses.astype(float), memberships, target.error_from_loss)
        return described.with_errors(*errors, "given", is_classification=of_classes)

    def explain_row(self, x: Any) -> dict[str, Any]:
        """Explain the prediction of one row by memberships, member outputs and weights.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.

        Returns
        -------
        dict
            ``prediction``; ``scores`` (one per class, or mean and variance of a numeric target);
            ``strata`` (memberships of the row); ``members`` (outputs of each member, anchors
            last); ``weights`` (weight of each member for this row, or None if the fusion has no
            such weights).
        """
        kept = object if hasattr(self, "encoder_") else None
        row = x if hasattr(x, "columns") else np.asarray(x, dtype=kept).reshape(1, -1)
        X, outputs, context = self._member_outputs(row)
        scores = self._correct(self.fusion_.combine(outputs, context), outputs)[0]
        weights = self.fusion_.row_weights(outputs, context)
        strata = final_step(self.stratifier_).transform(rows_at_final_step(self.stratifier_, X))
        return {
            "prediction": self._target().prediction(scores),
            "scores": scores,
            "strata": np.asarray(strata)[0],
            "members": outputs[:, 0],
            "weights": None if weights is None else self._correct_weights(weights)[0],
        }

    def _check_fitted(self) -> None:
        """Reject members that are inconsistent with each other."""
        members, n_columns = [*self.estimators_, *self.anchors_], self._encoded_width()
        expect_fitted(self, FITTED, strata=self.n_strata_, members=len(members), columns=n_columns)
        reports = all(isinstance(each, dict) for each in self.member_report_)
        expect(reports, "member_report_ is no list of dicts")
        for error in (each for each in self.stratum_errors_ if each is not None):
            finite = isinstance(error, Real) and abs(float(error)) < np.inf
            expect(finite, "stratum_errors_ is not finite")
        size = self.stratum_size_
        for share in size if isinstance(size, tuple | list) else [] if size is None else [size]:
            inside = isinstance(share, Real) and 0 < float(share) <= 1
            expect(inside, "stratum_size_ is not in (0, 1]")
        sized = getattr(self.fusion_, ENTRIES_PER_MEMBER.get(type(self.fusion_), ""), None)
        expect(sized is None or len(sized) == len(members), "fusion_ has another number of members")
        several = len(self.estimators_) % self.n_strata_ == 0
        expect(several and bool(self.estimators_), "estimators_ has not one per stratum")
        strata = final_step(self.stratifier_).memberships_.shape[1]
        expect(strata == self.n_strata_, "stratifier_ has another number of strata")
        # a constant member is fitted without columns
        varying = [each for each in members if not self._target().is_constant(each)]
        counts = {each.n_features_in_ for each in [*varying, self.stratifier_]}
        expect(counts == {n_columns}, "members have another number of columns")


@set_module("ensemblage.strata")
@with_shared(STRATA_DOCS + ENCODE_DOCS)
class StrataEnsembleClassifier(
    StrataEnsembleMixin, SourcedClassifierMixin, DocLinkMixin, BaseEstimator
):
    """Ensemble classifier with one member per stratum of similar rows.

    If data come from several sources, one model may fit none of them well. This ensemble finds
    strata of similar rows, fits a member on each, and fuses the members' outputs. It suits sources
    that lie apart in the columns; otherwise prefer :class:`~ensemblage.pool.EnsemblageClassifier`.

    Parameters
    ----------
    {stratifier}
    estimator : classifier or list of classifiers, default=None
        The member, or several members to fit on each stratum; by default logistic regression on
        columns standardised within the stratum (:class:`ScaledLogisticRegression`).
    fusion : {"stacking", "gate", "log_linear", "mean", "vote"} or Fusion, default="gate"
        How to combine members' outputs. ``"gate"`` weights the members by the row's affinity to
        their strata; with an anchor, the gate's output is pooled with the anchor's.
    {final_estimator, membership, anchor, stratum_size, n_strata}
    cv : int, "in-sample", splitter or iterable, default=5
        Folds for the out-of-fold outputs of the members on which the fusion is fitted. The strata
        do not depend on labels, so only members are refitted. ``"in-sample"`` uses in-sample
        outputs, as the paper does.
    {encode, max_member_rows, n_jobs, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    {stratifier_, estimators_, anchors_, fusion_}
    response_methods_ : list of {"predict_proba", "decision_function", "predict"}
        Method used for each member's outputs, anchors last.
    member_report_ : list of dict
        Per member: ``stratum`` (None for an anchor), ``estimator``, ``n_rows``, ``classes``,
        ``constant``, ``weight`` (in the fusion, None if it differs by row) and ``score``
        (out-of-fold accuracy on rows of its stratum, None if not known).
    {feature_means_, source_shrinkage_, stratum_errors_, out_of_fold_error_, stratum_size_}
    {n_strata_, trials_, n_without_fold_, member_sizes_, constant_strata_}
    {encoder_, n_features_in_, feature_names_in_}

    See Also
    --------
    HISS : The paper's stratifier.

    Notes
    -----
    A linear final estimator on the decision values of linear members is again a linear
    classifier; members with probabilities, or a nonlinear final estimator, avoid that.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. Scaling a single column changes the strata;
    standardise columns of different units.

    References
    ----------
    R. Jin and H. Liu, "A Novel Approach to Model Generation for Heterogeneous Data
    Classification".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ensemblage.strata import HISS, StrataEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> strata = HISS(n_strata=5, stratum_size=0.4)
    >>> model = make_pipeline(
    ...     StandardScaler(), StrataEnsembleClassifier(strata, random_state=0)
    ... )
    >>> bool(cross_val_score(model, X, y, cv=3).mean() > 0.9)
    True
    """

    _target_type = ClassTarget

    def _target(self) -> ClassTarget:
        return ClassTarget(self.classes_)

    def _fit_correction(
        self, fused: Doubles | None, strata: StrataFit, data: Training
    ) -> Doubles | None:
        self.classes_ = data.target.classes  # type: ignore[union-attr]
        return fused

    def _returns_probabilities(self) -> bool:
        if hasattr(self, "response_methods_"):
            methods, fusion = self.response_methods_, self.fusion_
        else:
            parts = self._resolve_parts()
            fusion, methods = parts.fusion, [name for name, _ in (*parts.members, *parts.anchors)]
        probable = all(name == "predict_proba" for name in methods)
        return bool(fusion.returns_probabilities(probable))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = len(self.classes_)
        for each in [*self.estimators_, *self.anchors_]:
            known = each.classes_.tolist()
            inside = each.classes_.dtype.kind in "iu" and 0 <= min(known) <= max(known) < n_classes
            expect(inside, "a member has other classes")


def paper_ensemble(*, n_jobs: int | None = None, random_state: Any = None) -> Pipeline:
    """Ensemble of the paper's experiments.

    Columns scaled to [0, 1], 20 strata of 40 % of the rows with spherical covariances, a linear
    support vector machine on each, and an RBF support vector machine on their in-sample decision
    values.
    """
    ensemble = StrataEnsembleClassifier(
        HISS(20, 0.4, covariance_type="spherical", polish=False),
        SVC(kernel="linear"),
        fusion="stacking",
        final_estimator=SVC(),
        cv="in-sample",
        n_jobs=n_jobs,
        random_state=random_state,
    )
    return make_pipeline(MinMaxScaler(), ensemble)


@set_module("ensemblage.strata")
@with_shared(STRATA_DOCS + ENCODE_DOCS)
class StrataEnsembleRegressor(StrataEnsembleMixin, RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""Ensemble regressor with one member per stratum of similar rows.

    It finds strata of similar rows, fits a member on each, and fuses the members' normal densities,
    so that each prediction has a standard deviation.

    Parameters
    ----------
    {stratifier}
    estimator : regressor or list of regressors, default=None
        The member, or several members to fit on each stratum; by default ridge regression on
        columns standardised within the stratum (:class:`ScaledRidge`).
    fusion : {"gate", "log_linear", "stacking", "mean"} or Fusion, default="gate"
        How to combine members' densities. ``"gate"`` is a mixture weighted by the row's affinity
        to the strata; with an anchor, the gate's density is pooled with the anchor's.
        ``"log_linear"`` is a product with learned weights.
    {final_estimator, membership, anchor, stratum_size, n_strata}
    cv : int, "in-sample", splitter or iterable, default=5
        Folds for the out-of-fold outputs of the members on which variances and fusion are fitted.
        The strata are not refitted. ``"in-sample"`` uses in-sample outputs: variances are then too
        small, and prediction intervals are not available.
    {encode, max_member_rows, n_jobs, random_state}

    Attributes
    ----------
    target_scale_ : float
        Standard deviation of the target in training.
    {stratifier_, estimators_, anchors_, fusion_}
    response_methods_ : list of {"predict", "predict_std"}
        Method used for each member's outputs, anchors last; ``"predict_std"`` is ``predict`` with
        ``return_std=True``.
    member_report_ : list of dict
        Per member: ``stratum`` (None for an anchor), ``estimator``, ``n_rows``, ``constant``,
        ``rmse`` and ``score`` (R²), both out-of-fold on rows of its stratum, and ``weight`` (in
        the fusion, None if it differs by row).
    {feature_means_, source_shrinkage_, stratum_errors_, out_of_fold_error_}
    anchor_index_, anchor_weight_ : int, float
        Index of the best anchor, and its weight beside the fused mean, both by out-of-fold squared
        error.
    variance_factor_, variance_offset_ : float
        Linear correction of the fused variance, by the likelihood of out-of-fold residuals; factor
        0 gives one variance for all rows.
    stratum_variances_ : ndarray of shape (n_strata,) or None
        Mean squared out-of-fold residual of each stratum's member on the rows closest to it; None
        without folds.
    conformity_scores_ : dict of ndarray or None
        ``scores`` (absolute out-of-fold residuals in predicted standard deviations), ``strata``
        (the stratum that each row is closest to) and ``weights``, each of shape (n_rows,).
    source_conformity_scores_ : dict of ndarray or None
        Conformity scores for known sources; None without sources.
    {stratum_size_, n_strata_, trials_, n_without_fold_, member_sizes_, constant_strata_}
    {encoder_, n_features_in_, feature_names_in_}

    See Also
    --------
    StrataEnsembleClassifier : Classification.
    PartialPoolingRegressor : For sources known at prediction.

    Notes
    -----
    A member's output is a normal density: its prediction, and a variance estimated from its
    out-of-fold residuals (see :class:`~ensemblage.fusion.AffinityGate` and
    :class:`~ensemblage.fusion.LogLinearPool`); for a member whose ``predict`` takes ``return_std``,
    its own variance times a factor estimated in the same way.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. Scaling a single column changes the strata;
    standardise columns of different units.

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

    _target_type = NumericTarget
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StrataEnsembleMixin._parameter_constraints,  # noqa: SLF001
        "fusion": [
            StrOptions({"gate", "log_linear", "mean", "stacking"}),
            HasMethods(["fit", "combine"]),
        ],
    }

    def predict(self, X: Any, *, return_std: bool = False, sources: Any = None) -> Any:
        """Predict the mean, and optionally the standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Also return the predictive standard deviation.
        sources : array-like of shape (n_samples,), default=None
            Source of each row, for :class:`SourceStrata`. Rows with a missing or new source are
            predicted as without ``sources``.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        mean, variance = self._scores(X, sources).T
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9, *, sources: Any = None) -> Doubles:
        r"""Conformal prediction intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            Share of rows whose true value is inside the interval, between 0 and 1.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``; quantiles are then those of the source.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper bounds.

        Notes
        -----
        The interval is :math:`\mu(x) \pm q\, s(x)`, with q the quantile at ``coverage`` of the
        absolute out-of-fold residuals in units of :math:`s(x)`, in the stratum that the row is
        closest to; all other rows count as much as twenty rows of the stratum. With too few rows
        for the coverage, q is the largest residual.
        """
        if not isinstance(coverage, Real) or isinstance(coverage, Integral | bool):
            raise TypeError(f"coverage={coverage!r} must be a number between 0 and 1, such as 0.9.")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must be between 0 and 1, such as 0.9.")
        mean, variance = self._scores(X, sources).T
        if self.conformity_scores_ is None:
            raise ValueError(
                f"Prediction intervals need out-of-fold residuals, which cv={self.cv!r} does not "
                "give. Fit with folds, such as cv=5."
            )
        closest = log_affinity(self.stratifier_, self._read_rows(X)).argmax(axis=1)
        factors = conformal_factors(self.conformity_scores_, self.n_strata_, coverage)[closest]
        if self.source_conformity_scores_ is not None and sources is not None:
            known = self._strata_of_sources(sources, len(mean))
            own = conformal_factors(self.source_conformity_scores_, self.n_strata_, coverage)
            factors = np.where(known >= 0, own[known], factors)
        half = factors * np.sqrt(variance)
        return np.column_stack([mean - half, mean + half])

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Coefficient of determination (R²).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True values.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``.

        Returns
        -------
        float
            R²: 1 at best, 0 for the constant mean.
        """
        return float(r2_score(y, self.predict(X, sources=sources), sample_weight=sample_weight))

    def _target(self) -> NumericTarget:
        return NumericTarget(self.target_scale_, self.stratum_variances_)

    def _fit_correction(
        self, fused: Doubles | None, strata: StrataFit, data: Training
    ) -> Doubles | None:
        self.target_scale_ = data.target.scale  # type: ignore[union-attr]
        self.stratum_variances_: Doubles | None = None
        self.conformity_scores_: dict[str, NDArray[Any]] | None = None
        self.source_conformity_scores_: dict[str, NDArray[Any]] | None = None
        self._store_correction(OutputCorrection())
        outputs = strata.outputs
        if fused is None or outputs is None:
            return fused
        known = np.flatnonzero(np.isfinite(fused).all(axis=1) & (data.weights > 0))
        if len(known) == 0:
            return fused
        anchored = self._anchored(outputs)
        correction = fit_output_correction(
            fused[known], anchored[:, known], data.y[known], data.weights[known]
        )
        self._store_correction(correction)
        self.stratum_variances_ = stratum_variances(outputs[:, known], strata, known, data)
        fused = correction.apply(fused, anchored)
        closest = log_affinity(strata.stratifier, data.X, in_training=True).argmax(axis=1)
        self.conformity_scores_ = conformity_scores(fused, known, closest, data)
        return fused

    def _fit_source_scores(self, fused: Doubles | None, strata: StrataFit, data: Training) -> None:
        if fused is None or strata.outputs is None:
            return
        of_rows = strata.strata_of_rows
        own = own_outputs(strata.outputs, of_rows, self.n_strata_)
        mixed = self._mix_own_member(own, fused, of_rows, self._target())
        known = np.flatnonzero(np.isfinite(mixed).all(axis=1) & (data.weights > 0))
        if len(known) > 0:
            self.source_conformity_scores_ = conformity_scores(mixed, known, of_rows, data)

    def _anchored(self, outputs: Doubles) -> Doubles:
        """Means of the anchors, (n_anchors, n_rows)."""
        return outputs[len(outputs) - len(self.anchors_) :, :, 0]

    def _store_correction(self, correction: OutputCorrection) -> None:
        self.anchor_index_, self.anchor_weight_ = correction.anchor, correction.weight
        self.variance_factor_, self.variance_offset_ = correction.factor, correction.offset

    def _correct(self, fused: Doubles, outputs: Doubles) -> Doubles:
        correction = OutputCorrection(
            self.anchor_index_, self.anchor_weight_, self.variance_factor_, self.variance_offset_
        )
        return correction.apply(fused, self._anchored(outputs))

    def _correct_weights(self, weights: Doubles) -> Doubles:
        if self.anchor_weight_ == 0:
            return weights
        weights = weights * (1 - self.anchor_weight_)
        weights[:, len(self.estimators_) + self.anchor_index_] += self.anchor_weight_
        return weights

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect(bool(0 < self.target_scale_ < np.inf), "target_scale_ is not above zero")
        n_anchors = max(len(self.anchors_), 1)
        expect(0 <= self.anchor_index_ < n_anchors, "anchor_index_ is out of range")
        expect(0 <= self.anchor_weight_ <= 1, "anchor_weight_ is not in [0, 1]")
        variance = (self.variance_factor_, self.variance_offset_)
        positive = all(0 <= each < np.inf for each in variance) and max(variance) > 0
        expect(positive, "the variance is not above zero")
        if self.stratum_variances_ is not None:
            expect_array(self, "stratum_variances_", (self.n_strata_,), low=0)
        for scores in (self.conformity_scores_, self.source_conformity_scores_):
            if scores is None:
                continue
            named = isinstance(scores, dict) and scores.keys() == {"scores", "strata", "weights"}
            expect(named, "conformity scores have other fields")
            fields, shape = SimpleNamespace(**scores), np.shape(scores["scores"])
            expect_array(fields, "scores", shape, low=0)
            expect_array(fields, "strata", shape, "integer", low=0, high=self.n_strata_ - 1)
            expect_array(fields, "weights", shape, low=0)
