"""The pool: members of all three kinds of diversity, tuned, fused and refitted."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ensemblage._core import (
    UNKNOWN_SOURCE,
    DocLinkMixin,
    HasMethods,
    Interval,
    StrOptions,
    count,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    num_samples,
    read_weights,
    refuse_missing_targets,
    set_module,
    short_weights,
    take_rows,
    warn_user,
    with_shared,
)
from ensemblage.datasets import (
    ENCODE_CONSTRAINT,
    ENCODE_DOCS,
    TableEncoder,
)
from ensemblage.fusion import RESPONSE_METHODS, Fusion, LogLinearPool, SourcedClassifierMixin
from ensemblage.pool._columns import ColumnEffects, log_contrast
from ensemblage.pool._distillation import (
    DistilledClasses,
    DistilledModel,
    DistilledValues,
    make_student,
)
from ensemblage.pool._fit import (
    LARGE_DATA_ROWS,
    Correction,
    FittedPool,
    PoolFit,
    TimeBudget,
    fit_pool,
    make_fusion,
)
from ensemblage.pool._leaderboard import (
    Ablation,
    Leaderboard,
    OutOfFold,
    PruningStep,
    ablate,
    pruning_path,
)
from ensemblage.pool._member_spec import (
    ARRAY_CHECKS,
    ENCODED,
    TABLE,
    MemberSpec,
    PoolClassTarget,
    PoolNumericTarget,
    PoolTarget,
    TrainingData,
    correct_variance,
    fit_growing_correction,
    holdout_fold,
    is_valid_correction,
    make_cv_folds,
)
from ensemblage.pool._members import (
    CLASSIFIER_POOLS,
    REGRESSOR_POOLS,
    note_of_missing,
    resolve_members,
)
from ensemblage.pool._row_explanation import (
    RowExplanation,
    explain_classification,
    explain_regression,
)
from ensemblage.pool._sources import (
    SourcePool,
    fit_source_pool,
    interval_factor,
    new_source_threshold,
    prediction_sets,
    stratify_folds_by_source,
    unknown_source_threshold,
)
from ensemblage.sources import (
    encode_sources,
    lookup_sources,
    source_column,
    split_fitted_column,
    split_source_column,
)

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

REGRESSOR_METHODS = ("predict", "predict_std")
SHARED_DOCS = f"""{ENCODE_DOCS}
cv : int, splitter or iterable, default=5
    Cross-validation folds, shared by all members. With an integer and more than 10,000 rows, one
    holdout set, a tenth of the rows, replaces the folds; of a named pool only boosting is then
    fitted, to its end, and with categorical columns a linear model.
time_budget : float, default=None
    Seconds that ``fit`` may take; None for no limit. Members are then fitted in order of expected
    gain per second, on as many rows as time allows. Beyond 10,000 rows boosting is fitted first.
n_jobs : int, default=None
    Number of parallel fits, by joblib.
random_state : int, RandomState instance or None, default=None
    Seed of the folds and of the members.
member_names_ : list of str
    Names of the members.
member_inputs_ : list of {{"encoded", "table"}}
    Input of each member: the table itself, or its encoded columns.
fusion_ : Fusion
    The fitted fusion of these members.
leaderboard_ : Leaderboard
    Out-of-fold performance of the pool and of each member.
out_of_fold_ : OutOfFold
    Out-of-fold outputs: ``outputs`` of the members ``names``, (n_members, n_rows, n_outputs),
    ``pool_outputs``, (n_rows, n_outputs), of the rows ``indices`` of ``fit``; 20,000 at most.
source_pool_ : SourcePool
    The source-aware pool, which predicts rows of known sources; only after a fit with ``sources``.
    All other attributes are of the source-blind pool. It has ``names`` of the sources, ``offsets``
    of their log probabilities or mean, a ``leaderboard``, and whether knowing the source ``helps``.
source_column_ : str, list of str or None
    Names of the columns of ``fit`` that held the sources; only after such a fit.
feature_importances_ : ndarray of shape (n_features_in_,)
    Importances of the columns; only after ``permutation_importance``.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


DISTILLATION_DOCS = """
max_leaf_nodes : int, default=16
    Maximum number of leaves of the tree.
X_test : array-like of shape (n_test, n_features), default=None
    Rows to score the model on; neither rows of ``fit`` nor of X.
"""
TEST_ROWS_MISSING = "y_test was given without X_test; pass the rows of y_test too."


class BaseEnsemblage(ColumnEffects):
    """Validation, fit and pruning of a pool; a subclass defines target and prediction."""

    member_names_: list[str]
    estimators_: list[Any]
    response_methods_: list[str]
    member_inputs_: list[str]
    fusion_: Fusion
    leaderboard_: Leaderboard
    out_of_fold_: OutOfFold
    members: Any
    fusion: Any
    cv: Any
    n_jobs: int | None
    random_state: Any
    time_budget: float | None = None
    variance_correction_: dict[str, float]
    source_pool_: SourcePool
    source_column_: Any
    feature_importances_: Doubles

    _shows_table: ClassVar[bool] = True
    _numeric: ClassVar[bool]

    def _read_target(self, y: Any) -> tuple[NDArray[Any], PoolTarget]:
        """Validate the target; return class codes or floats, and a description of the target."""
        raise NotImplementedError  # look: ok

    def _target(self) -> PoolTarget:
        raise NotImplementedError  # look: ok

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, sources: Any = None) -> Self:
        weighted = sample_weight is not None
        specs = resolve_members(self.members, weighted=weighted, numeric=self._numeric)
        fusion = make_fusion(self.fusion, has_groups=groups is not None, numeric=self._numeric)
        budget = None if self.time_budget is None else TimeBudget(self.time_budget, self.n_jobs)
        fold_seed, *seeds, source_seed = draw_seeds(self.random_state, 2 + len(specs))
        given, asked = X, sources
        X, sources = split_source_column(X, sources)
        data = self._validate_training_data(X, y, sample_weight, groups, fold_seed)
        if sources is not None:
            names, codes = self._encode_sources(sources, X, data, specs, fusion)
            data = stratify_folds_by_source(data, codes, self.cv, fold_seed)

        def fit_members(data: TrainingData, budget: TimeBudget | None) -> PoolFit:
            return fit_pool(
                specs, seeds, fusion, data,
                budget=budget, n_jobs=self.n_jobs, correction=self._correction(data),
            )  # fmt: skip

        half = budget.half() if budget is not None and sources is not None else budget
        blind = fit_members(data, half)
        self._store(blind.pool)
        self._add_note(note_of_missing(self.members, numeric=self._numeric))
        if blind.correction is not None:
            self.variance_correction_ = blind.correction
        for name in ("source_pool_", "source_column_", "feature_importances_"):
            vars(self).pop(name, None)
        if sources is not None:
            self.source_column_ = None if X is given else source_column(asked)
            self.source_pool_ = fit_source_pool(
                blind, fusion, data, names, codes, source_seed,
                budget=None if budget is None else budget.rest(), n_jobs=self.n_jobs,
                fit_alike=lambda data: fit_members(data, None),
            )  # fmt: skip
            n_without, note = int((codes == UNKNOWN_SOURCE).sum()), self.source_pool_.note
            if n_without:
                note += f" {count(n_without, 'row')} without a source: source-blind pool only."
            self._add_note(note)
        return self

    def _add_note(self, note: str) -> None:
        notes = filter(None, [self.leaderboard_.note, note])
        self.leaderboard_ = replace(self.leaderboard_, note=" ".join(notes))

    def _correction(self, data: TrainingData) -> Correction | None:
        """Return the last step after the fusion."""
        del data
        return None

    def _encode_sources(
        self, sources: Any, X: Any, data: TrainingData, specs: list[MemberSpec], fusion: Fusion
    ) -> tuple[NDArray[Any], Integers]:
        """Return names and codes of sources; raise for a pool without probabilities."""
        probable = all(each.response == "predict_proba" for each in specs)
        if not (self._numeric or fusion.returns_probabilities(probable)):
            raise ValueError(
                f"sources were given, but fusion={fusion!r} returns no probabilities with these "
                "members. Use fusion='log_linear', or members with predict_proba."
            )
        names, codes = encode_sources(sources, X, allow_missing=True, allow_nested=True)
        return names, codes if data.indices is None else codes[data.indices]

    def _validate_training_data(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, fold_seed: int
    ) -> TrainingData:
        """Validate the input of ``fit``, drop rows of zero weight, and make the folds."""
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X, y = self._training_rows(X, y, sample_weight, **ARRAY_CHECKS, ensure_min_samples=2)
        table = given if isinstance(getattr(self, "encoder_", None), TableEncoder) else None
        check_consistent_length(X, groups)
        weights, indices = None, np.arange(len(y))
        if sample_weight is not None:
            weights = short_weights(read_weights(sample_weight, X))
            present = weights > 0
            X, y, weights = X[present], y[present], weights[present]
            indices = np.flatnonzero(present)
            table = None if table is None else take_rows(table, indices)
            groups = None if groups is None else np.asarray(groups)[present]
        y, target = self._read_target(y)
        forms = {} if table is None else {TABLE: table}
        data = TrainingData(X, y, target, weights, [], groups is not None, indices, forms)
        if table is not None:
            data = data._replace(has_categories="categorical" in self.encoder_.kinds_)
        if isinstance(self.cv, Integral) and len(y) > LARGE_DATA_ROWS:
            folds = holdout_fold(data.labels, fold_seed, groups)
            return data._replace(folds=folds, is_large=True)
        return data._replace(folds=make_cv_folds(data.labels, self.cv, fold_seed, groups))

    def _store(self, pool: FittedPool) -> None:
        self.member_names_, self.estimators_ = pool.names, pool.estimators
        self.response_methods_, self.member_inputs_ = pool.response_methods, pool.inputs
        self.fusion_, self.leaderboard_ = pool.fusion, pool.leaderboard
        self.out_of_fold_ = pool.out_of_fold
        if pool.leaderboard.failures:
            warn_user(" ".join(pool.leaderboard.failures))

    def _member_outputs(self, X: Any) -> Doubles:
        """Return the members' outputs, (n_members, n_samples, n_outputs)."""
        check_is_fitted(self)
        table, target = self._read_rows(X), self._target()
        inputs = {ENCODED: self._new_rows(table, **ARRAY_CHECKS), TABLE: table}
        members = zip(self.estimators_, self.response_methods_, self.member_inputs_, strict=True)
        return np.stack([target.outputs(each, inputs[kind], by) for each, by, kind in members])

    def _split_sources(self, X: Any, sources: Any) -> tuple[Any, Integers]:
        """Return X without its source column, and the codes of the sources."""
        check_is_fitted(self)
        pool = getattr(self, "source_pool_", None)
        if pool is None:
            if sources is not None:
                raise ValueError(
                    "sources were given, but the pool was fitted without: pass "
                    "fit(..., sources=...), or leave them out."
                )
            return X, np.full(num_samples(X), UNKNOWN_SOURCE, dtype=np.int64)
        X, sources = split_fitted_column(X, sources, self.source_column_)
        return X, lookup_sources(sources, pool.names, num_samples(X))

    def _blind_outputs(self, X: Any) -> Doubles:
        """Return the source-blind pool's outputs, (n_samples, n_outputs)."""
        fused = np.asarray(self.fusion_.combine(self._member_outputs(X)))
        correction = vars(self).get("variance_correction_")
        return fused if correction is None else correct_variance(fused, correction)

    def _outputs(self, X: Any, codes: Integers) -> Doubles:
        """Predict rows of known sources by the source-aware pool, the others source-blind."""
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        outputs, known = self._blind_outputs(X), np.flatnonzero(codes != UNKNOWN_SOURCE)
        if len(known):
            rows = self._new_rows(take_rows(X, known), **ARRAY_CHECKS)
            outputs[known] = self.source_pool_.predict(
                rows, codes[known], outputs[known], self._target()
            )
        return outputs

    def _thresholds(self, codes: Integers, coverage: float, unknown: float) -> Doubles:
        """Threshold of each row's nonconformity score; ``unknown`` for a pool without sources."""
        pool = vars(self).get("source_pool_")
        if pool is None:
            return np.full(len(codes), unknown)
        if pool.unseen_source_scores is not None:
            unknown = new_source_threshold(**pool.unseen_source_scores, coverage=coverage)
        own = pool.thresholds(coverage)
        return np.where(codes == UNKNOWN_SOURCE, unknown, own[codes])

    def _source_explanation(self, row: Any, codes: Integers, prior: float) -> RowExplanation | None:
        """Explain a row of known source by the source-aware pool, if that predicts it."""
        if codes[0] == UNKNOWN_SOURCE or not self.source_pool_.helps:
            return None
        encoded, blind = self._new_rows(row, **ARRAY_CHECKS), self._blind_outputs(row)
        return self.source_pool_.explain_row(encoded, int(codes[0]), blind, self._target(), prior)

    def _distill(
        self,
        target: DistilledClasses | DistilledValues,
        X: Any,
        kind: str,
        max_leaf_nodes: int,
        out_of_fold: bool,
        X_test: Any,
        y_test: Any,
    ) -> DistilledModel:
        check_is_fitted(self)
        student = make_student(
            kind, max_leaf_nodes, encoded=hasattr(self, "encoder_"), numeric=self._numeric
        )
        if out_of_fold:
            outputs = self.out_of_fold_.pool_outputs.astype(float)
            X, _ = self._split_sources(take_rows(X, self.out_of_fold_.indices), None)
        else:
            X, codes = self._split_sources(X, None)
            outputs = self._outputs(X, codes)
        fitted = target.fit(student, X, outputs)
        if X_test is None:
            return DistilledModel(fitted)
        X_test, codes = self._split_sources(X_test, None)
        given = self._outputs(X_test, codes)
        return target.score(fitted, X_test, given, y_test, outputs.mean(axis=0))

    def ablation(self) -> Ablation:
        """Log loss of the pool without each group of members.

        Returns
        -------
        Ablation
            Out-of-fold ``log_loss`` of the whole pool, and a row for each group: ``group``,
            ``members``, ``log_loss`` without them, its ``change`` and the ``standard_error`` of
            that; prints as a table. Only the fusion is refitted. The source-aware pool is not
            included.
        """
        check_is_fitted(self)
        return ablate(self.out_of_fold_, clone(self.fusion_))

    def pruning_path(self) -> list[PruningStep]:
        """Prune members one by one, with prediction time and log loss of each smaller pool.

        Returns
        -------
        list of PruningStep
            From all members with a weight down to one; each step drops the member whose removal
            adds the least loss per second saved. Each has ``members``, ``latency`` (seconds for
            100 rows) and ``log_loss``, to compare the steps: settings and weights are fitted to
            the same out-of-fold outputs, so it is lower than on the leaderboard.
        """
        check_is_fitted(self)
        seconds = {
            each.member: each.predict_seconds
            for each in self.leaderboard_[1:]
            if each.member in self.member_names_
        }
        return pruning_path(self.out_of_fold_, seconds, clone(self.fusion_))

    def prune(self, max_latency: float) -> Self:
        """Return a smaller, faster pool; the source-aware pool is not pruned.

        Parameters
        ----------
        max_latency : float
            Seconds for 100 rows, as in ``pruning_path``.

        Returns
        -------
        object
            A fitted copy: the largest pool of ``pruning_path`` that is fast enough, with the
            fusion refitted. This pool is unchanged.
        """
        path = self.pruning_path()
        fast = [each for each in path if each.latency <= max_latency]
        if not fast:
            least = min(each.latency for each in path)
            raise ValueError(
                f"max_latency={max_latency!r} is less than the {least:.2g} s for 100 rows that the "
                "fastest pruned pool takes. Increase it; pruning_path() lists the latencies."
            )
        kept = [k for k, name in enumerate(self.member_names_) if name in fast[0].members]
        pruned = copy(self)
        vars(pruned).pop("feature_importances_", None)
        for name in ("member_names_", "estimators_", "response_methods_", "member_inputs_"):
            setattr(pruned, name, [getattr(self, name)[k] for k in kept])
        record = self.out_of_fold_
        members = [record.names.index(name) for name in pruned.member_names_]
        pruned.fusion_ = record.fit_fusion(clone(self.fusion_), members)
        pruned._refit_correction(members)  # noqa: SLF001  a copy of itself
        return pruned

    def _refit_correction(self, members: list[int]) -> None:
        """Refit the correction of the fused outputs, with fewer members."""

    def _check_pool(self, n_classes: int | None) -> None:
        """Refuse members, methods or a fusion that are inconsistent."""
        n_members = len(self.estimators_)
        expect(n_members > 0, "it has no members")
        for name in ("member_names_", "response_methods_", "member_inputs_"):
            expect(len(getattr(self, name)) == n_members, f"{name} has another length")
        expect_fitted(self, {"member_names_": "strings (members)"}, members=n_members)
        expect(isinstance(self.leaderboard_, Leaderboard), "leaderboard_ is not a Leaderboard")
        known = REGRESSOR_METHODS if n_classes is None else RESPONSE_METHODS
        expect(set(self.response_methods_) <= set(known), "response_methods_ are unknown")
        expect(set(self.member_inputs_) <= {ENCODED, TABLE}, "member_inputs_ are unknown")
        if isinstance(self.fusion_, LogLinearPool):
            known_classes = None if self.fusion_.numeric_ else len(self.fusion_.class_prior_)
            lengths = (len(self.fusion_.weights_), known_classes)
            expect(lengths == (n_members, n_classes), "fusion_ has other members or classes")
        self.out_of_fold_.check(n_classes)
        pool = vars(self).get("source_pool_")
        expect(pool is None or isinstance(pool, SourcePool), "source_pool_ is not a SourcePool")
        if "feature_importances_" in vars(self):
            expect_array(self, "feature_importances_", (self.n_features_in_,))  # type: ignore[attr-defined]


@set_module("ensemblage.pool")
@with_shared(SHARED_DOCS)
class EnsemblageClassifier(BaseEnsemblage, SourcedClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""A pool of tuned, calibrated and fused classifiers.

    Standard classifiers and this library's ensembles are tuned on shared cross-validation folds. A
    fusion learns their weights from their out-of-fold outputs; members with a weight above zero are
    then refitted on all rows.

    Parameters
    ----------
    members : {"lean", "full", "library", "standard"} or list, default="lean"
        The members. ``"standard"``: a support vector machine, logistic regression, two forests
        and boosting. ``"lean"`` adds the inner Bayesian network and the joint subspaces, ``"full"``
        also the strata. ``"library"``: network, subspaces and strata only. A list holds names of
        members, classifiers, or pairs of a name and a classifier.
    fusion : {"log_linear", "stacking"} or Fusion, default="log_linear"
        How members' outputs are combined. ``"log_linear"`` is
        :class:`~ensemblage.fusion.LogLinearPool` with class biases, temperature scaling and a small
        weight of the class frequencies.
    {cv}
    {time_budget, encode, n_jobs, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list of classifiers
        Fitted members with a weight; their classes are indices of ``classes_``.
    {member_names_}
    response_methods_ : list of {"predict_proba", "decision_function", "predict"}
        The method that returns each member's outputs.
    {member_inputs_, fusion_, leaderboard_, out_of_fold_}
    {source_pool_, source_column_, feature_importances_}
    {encoder_, n_features_in_, feature_names_in_}

    See Also
    --------
    EnsemblageRegressor : The same for a numeric target.
    ensemblage.fusion.LogLinearPool : The fusion.
    ensemblage.strata.StrataEnsembleClassifier : Diversity in the rows only.
    ensemblage.subspace.JointSubspaceClassifier : Diversity in the columns only.
    ensemblage.inner.InnerBayesNetClassifier : Diversity in the decisions only.

    Notes
    -----
    The pool is eq. 10 of the joint-subset paper with learned weights :math:`i_k`,
    :math:`p(c|x) \propto \exp \frac1T (b_c + \sum_k i_k \log p_k(c|x))`. Forests are evaluated out
    of bag, and strata by their own cross-validation, in which only the gate is refitted. With
    ``groups``, forests are evaluated on the folds too, and there are no biases :math:`b_c`.

    With ``sources``, folds are stratified by source. The source-aware pool has partial
    pooling, boosting with the source as a category, a forest, the pool with the source as a column
    (of at most 100 sources, without ``time_budget``), and the source-blind pool. All but the last
    use the source, boosting and forest also the columns' means at it. A source's offsets,
    shrunk towards zero, are added to the log probabilities. Sources with few rows or one class are
    shrunk towards the others, nested ones towards their outer source. Rows of ``fit`` without a
    source are used by the source-blind pool only. Where the source does not lower the out-of-fold
    log loss, the source-blind pool predicts all rows, and the leaderboard says so.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. So does another order of columns.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.pool import EnsemblageClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = EnsemblageClassifier(["logistic", "forest"], random_state=0).fit(X, y)
    >>> bool(model.leaderboard_[0].score > 0.95)
    True
    """

    # groups of an outer cross-validation also split the inner one, without a request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "members": [StrOptions(set(CLASSIFIER_POOLS)), list, tuple],
        "fusion": [StrOptions({"log_linear", "stacking"}), HasMethods(["fit", "combine"])],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _numeric = False

    def __init__(
        self,
        members: Any = "lean",
        *,
        fusion: Any = "log_linear",
        cv: Any = 5,
        time_budget: float | None = None,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.fusion = fusion
        self.cv = cv
        self.time_budget = time_budget
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    # prefer_skip_nested_validation=False: members validate their own parameters
    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, sources: Any = None
    ) -> Self:
        """Tune the members on shared folds, fit the fusion, and refit members with a weight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numeric columns, and with ``encode`` also categorical columns, dates and
            missing values. Members, including a user's own, get the encoded columns.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are dropped.
        groups : array-like of shape (n_samples,), default=None
            Groups that are never split between training and test rows of a fold.
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            The source of each row, or the name of its column of X; source-blind members do not
            use this column. A second, source-aware pool is then fitted to the rows whose source is
            not missing. Nested sources have two columns, the outer one first, as in
            ``["hospital", "ward"]``.

        Returns
        -------
        self : object
            Fitted pool.
        """
        return self._fit(X, y, sample_weight, groups, sources)

    def _read_target(self, y: Any) -> tuple[NDArray[np.intp], PoolClassTarget]:
        check_classification_targets(y)
        self.classes_, y = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            named = "".join(f", {each!r}" for each in self.classes_.tolist())
            raise ValueError(f"y holds one class only{named}; a classifier needs at least two.")
        return y, PoolClassTarget(self.classes_)

    def _target(self) -> PoolClassTarget:
        return PoolClassTarget(self.classes_)

    def _returns_probabilities(self) -> bool:
        if hasattr(self, "response_methods_"):
            methods, fusion = self.response_methods_, self.fusion_
        else:
            methods = [each.response for each in resolve_members(self.members)]
            fusion = make_fusion(self.fusion, has_groups=False)
        return bool(fusion.returns_probabilities(all(each == "predict_proba" for each in methods)))

    def _encode_target(self, y: Any) -> NDArray[Any]:
        refuse_missing_targets(y)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes_).tolist()
        if unknown:
            raise ValueError(
                f"y holds {unknown[0]!r}, a class that was not in y of fit; leave such rows out."
            )
        return np.asarray(np.searchsorted(self.classes_, y))

    def _explained_losses(self, outputs: Doubles, y: NDArray[Any]) -> Doubles:
        return np.asarray(self._target().reported_losses(outputs, y))

    def _explained_value(
        self, outputs: Doubles, label: Any
    ) -> tuple[Any, str, Callable[[Doubles], Doubles]]:
        classes = self.classes_.tolist()
        prediction = classes[int(outputs[0].argmax())]
        label = prediction if label is None else label
        if label not in classes:
            raise ValueError(f"label={label!r} is not a class; use one of {classes}, or None.")
        code, measure = classes.index(label), f"log-odds of {label}"
        if len(classes) > 2:
            measure = f"log probability of {label} minus the mean over the classes"
        return prediction, measure, lambda outputs: log_contrast(outputs, code)

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        return self._outputs(*self._split_sources(X, sources))

    @available_if(lambda self: self._returns_probabilities())
    def predict_set(
        self, X: Any, sources: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.bool_]:
        r"""Predict a set of classes for each row that holds the true one with given coverage.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.
        coverage : float, default=0.9
            Share of rows whose prediction set should hold the true class, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            True for classes in the set; the most probable class always is.

        Notes
        -----
        Conformal: a class is in the set if :math:`1 - p` is at most the quantile of the
        out-of-fold :math:`1 - p(y)`. Each known source has its own quantile, in which all other
        sources together count as 20 rows. The quantile for new or missing sources is of
        leave-source-out scores, each source with equal weight. Coverage holds for rows distributed
        like the training rows; of a new source it may be less.
        """
        _check_coverage(coverage)
        X, codes = self._split_sources(X, sources)
        unknown = unknown_source_threshold(self.out_of_fold_, coverage)
        return prediction_sets(self._outputs(X, codes), self._thresholds(codes, coverage, unknown))

    def explain_row(self, x: Any, source: Any = None) -> RowExplanation:
        """Explain the prediction of one row by the members' predictions.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.
        source : object, default=None
            Its source; if it is known, the source-aware pool is explained.

        Returns
        -------
        RowExplanation
            The prediction, and each member's probabilities, weight and contribution; prints as a
            table.
        """
        row = x if hasattr(x, "columns") else np.asarray(x).reshape(1, -1)
        row, codes = self._split_sources(row, None if source is None else [source])
        if (known := self._source_explanation(row, codes, 0.0)) is not None:
            return known
        outputs = self._member_outputs(row)
        return explain_classification(self.member_names_, outputs, self.fusion_, self.classes_)

    @with_shared(DISTILLATION_DOCS)
    def distill(
        self,
        X: Any,
        *,
        kind: str = "tree",
        max_leaf_nodes: int = 16,
        out_of_fold: bool = False,
        X_test: Any = None,
        y_test: Any = None,
    ) -> DistilledModel:
        """Distil the pool: fit one interpretable model to its probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; no labels are needed.
        kind : {"tree", "network", "logistic"}, default="tree"
            A decision tree, a Bayesian network, or logistic regression.
        {max_leaf_nodes}
        out_of_fold : bool, default=False
            Whether X are the rows of ``fit``, in the same order: the model is then fitted to the
            pool's out-of-fold probabilities.
        {X_test}
        y_test : array-like of shape (n_test,), default=None
            Their classes.

        Returns
        -------
        DistilledModel
            The fitted ``model``; its ``fidelity``, the share of test rows on which it agrees with
            the pool, None without ``X_test``; its ``log_loss`` and ``accuracy`` on the test rows,
            None without ``y_test``.

        Notes
        -----
        There are no scores of the rows of ``fit``. Log loss and accuracy would be too good, even by
        cross-validation, since the pool's probabilities of all other rows depend on the label of
        the row. Fidelity would be too low, since the pool follows the labels of its own rows.
        """
        self._check_test_rows(X_test, y_test)
        target = DistilledClasses(self.classes_)
        return self._distill(target, X, kind, max_leaf_nodes, out_of_fold, X_test, y_test)

    def _check_test_rows(self, X_test: Any, y_test: Any) -> None:
        if y_test is None:
            return
        if X_test is None:
            raise ValueError(TEST_ROWS_MISSING)
        check_consistent_length(X_test, y_test)
        unknown = np.setdiff1d(np.asarray(y_test), self.classes_).tolist()
        if unknown:
            raise ValueError(
                f"y_test holds {unknown[0]!r}, a class that was not in y of fit; leave such rows "
                "out."
            )

    def _check_fitted(self) -> None:
        self._check_pool(len(self.classes_))


@set_module("ensemblage.pool")
@with_shared(SHARED_DOCS)
class EnsemblageRegressor(BaseEnsemblage, RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""A pool of tuned and fused regressors with prediction intervals.

    Standard regressors and this library's ensembles are tuned on shared cross-validation folds.
    Their out-of-fold residuals give the variance of each member and its weight in the fusion;
    members with a weight above zero are then refitted on all rows.

    Parameters
    ----------
    members : {"lean", "full", "standard"} or list, default="lean"
        The members. ``"standard"``: ridge regression, a support vector machine, two forests and
        boosting. ``"lean"`` adds the inner tree, ``"full"`` also the strata. A list holds names of
        members, regressors, or pairs of a name and a regressor.
    fusion : {"log_linear", "mean", "stacking"} or Fusion, default="log_linear"
        How members' densities are combined. ``"log_linear"`` is
        :class:`~ensemblage.fusion.LogLinearPool`.
    {cv, time_budget, encode, n_jobs, random_state}

    Attributes
    ----------
    estimators_ : list of regressors
        Fitted members with a weight.
    {member_names_}
    response_methods_ : list of {"predict", "predict_std"}
        The method that returns each member's outputs; the second also returns a standard
        deviation.
    {member_inputs_, fusion_, leaderboard_, out_of_fold_}
    target_mean_, target_scale_ : float
        Mean and standard deviation of the target in training.
    variance_correction_ : dict
        Correction of the fused variance, fitted to out-of-fold residuals: it is multiplied by
        ``factor``, ``offset`` is added, and the sum is multiplied by exp(``log_growth`` t), where
        t is 0 at the prediction ``low`` and 1 at ``high``. ``log_growth`` is 0 where the gain does
        not exceed its standard error.
    {source_pool_, source_column_, feature_importances_}
    {encoder_, n_features_in_, feature_names_in_}

    See Also
    --------
    EnsemblageClassifier : The same for classification.
    ensemblage.fusion.LogLinearPool : The fusion.
    ensemblage.strata.StrataEnsembleRegressor : Diversity in the rows only.
    ensemblage.inner.InnerTreeRegressor : Diversity in the decisions only.

    Notes
    -----
    A member's output is a normal density: its prediction :math:`\mu_k`, and the variance
    :math:`s_k^2` of its out-of-fold residuals. The pool is eq. 10 of the joint-subset paper,
    :math:`p(y|x) \propto \prod_k p_k(y|x)^{i_k}`, which is normal again: its precision is
    :math:`\sum_k i_k / s_k^2`, and its mean the precision-weighted mean of the members. A member
    whose ``predict`` returns no standard deviation has the same variance on all rows. The
    weights overfit slightly, variances that differ from row to row may be miscalibrated, and large
    values are often predicted less exactly than small ones. The fused variance is therefore
    corrected by out-of-fold residuals to :math:`(a s^2 + b)\, e^{g t}`, where t rises from 0 at the
    lowest prediction to 1 at the highest.

    Forests are evaluated out of bag, and strata by their own cross-validation, in which only the
    gate is refitted. With ``groups``, forests are evaluated on the folds too.

    Sources are used as in :class:`EnsemblageClassifier`; a source's offset is added to the mean.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. So does another order of columns. In trees
    rounding decides between equally good splits, so that this also holds for a target in another
    unit.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.pool import EnsemblageRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = EnsemblageRegressor(["ridge", "svr"], random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X, coverage=0.9).T
    >>> bool(0.87 < ((low <= y) & (y <= high)).mean() < 0.95)
    True
    """

    # groups of an outer cross-validation also split the inner one, without a request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "members": [StrOptions(set(REGRESSOR_POOLS)), list, tuple],
        "fusion": [StrOptions({"log_linear", "mean", "stacking"}), HasMethods(["fit", "combine"])],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _numeric = True

    def __init__(
        self,
        members: Any = "lean",
        *,
        fusion: Any = "log_linear",
        cv: Any = 5,
        time_budget: float | None = None,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.fusion = fusion
        self.cv = cv
        self.time_budget = time_budget
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    # prefer_skip_nested_validation=False: members validate their own parameters
    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, sources: Any = None
    ) -> Self:
        """Tune the members on shared folds, fit the fusion, and refit members with a weight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numeric columns, and with ``encode`` also categorical columns, dates and
            missing values. Members, including a user's own, get the encoded columns.
        y : array-like of shape (n_samples,)
            Numeric target.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are dropped.
        groups : array-like of shape (n_samples,), default=None
            Groups that are never split between training and test rows of a fold.
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            As in :meth:`EnsemblageClassifier.fit`.

        Returns
        -------
        self : object
            Fitted pool.
        """
        return self._fit(X, y, sample_weight, groups, sources)

    def _validate_training_data(self, *given: Any) -> TrainingData:
        data = super()._validate_training_data(*given)
        self.target_mean_ = float(data.prior[0])
        self.target_scale_ = float(np.sqrt(data.prior[1]))
        return data

    def _correction(self, data: TrainingData) -> Correction:
        tested = data.tested

        def fit(fused: Doubles, rows: Integers, folds: Any) -> dict[str, float]:
            del folds
            own = tested[rows]
            return fit_growing_correction(fused, data.y[own], data.weights_at(own))

        return Correction(fit, lambda fitted, fused, _: correct_variance(fused, fitted))

    def _refit_correction(self, members: list[int]) -> None:
        record = self.out_of_fold_
        fused = record.cross_fuse(clone(self.fusion_), members)
        self.variance_correction_ = fit_growing_correction(fused, record.y, record.weights)

    def _read_target(self, y: Any) -> tuple[NDArray[Any], PoolNumericTarget]:
        return PoolNumericTarget.read(y, np.ones(len(y)))

    def _target(self) -> PoolNumericTarget:
        return PoolNumericTarget(self.target_scale_)

    def predict(self, X: Any, return_std: bool = False, *, sources: Any = None) -> Any:
        """Predict the target, and its standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return the standard deviation of the predictive distribution.
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            Source of each row, or names of columns of X. Rows with a missing or new source are
            predicted as without ``sources``.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        mean, variance = self._outputs(*self._split_sources(X, sources)).T
        return (mean, np.sqrt(variance)) if return_std else mean

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
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            As in ``predict``.

        Returns
        -------
        float
            1.0 is the best score.
        """
        return float(r2_score(y, self.predict(X, sources=sources), sample_weight=sample_weight))

    def predict_interval(self, X: Any, sources: Any = None, *, coverage: float = 0.9) -> Doubles:
        r"""Predict intervals of a given coverage.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            As in ``predict``.
        coverage : float, default=0.9
            Share of rows whose interval should hold the target, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper bounds.

        Notes
        -----
        Conformal: the interval is :math:`\mu(x) \pm q\, s(x)`, where q is the quantile, at
        the coverage, of the absolute out-of-fold residuals divided by :math:`s(x)`. With too few
        rows for the coverage, q is the largest of these. Each known source has its own quantile, in
        which all other sources together count as 20 rows. For new or missing sources it is of
        leave-source-out residuals, each source with equal weight.
        """
        _check_coverage(coverage)
        X, codes = self._split_sources(X, sources)
        mean, variance = self._outputs(X, codes).T
        unknown = interval_factor(self.out_of_fold_, coverage)
        half = self._thresholds(codes, coverage, unknown) * np.sqrt(variance)
        return np.column_stack([mean - half, mean + half])

    def explain_row(self, x: Any, source: Any = None) -> RowExplanation:
        """Explain the prediction of one row by the members' predictions.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.
        source : object, default=None
            Its source, of nested sources a pair; if it is known, the source-aware pool is
            explained.

        Returns
        -------
        RowExplanation
            The prediction, and each member's prediction, standard deviation, weight and
            contribution; prints as a table.
        """
        row = x if hasattr(x, "columns") else np.asarray(x).reshape(1, -1)
        row, codes = self._split_sources(row, None if source is None else [source])
        known = self._source_explanation(row, codes, self.target_mean_)
        if known is not None:
            return known
        outputs = self._member_outputs(row)
        found = explain_regression(self.member_names_, outputs, self.fusion_, self.target_mean_)
        fused = np.array([[found.prediction, (found.std or 0.0) ** 2]])
        variance = correct_variance(fused, self.variance_correction_)[0, 1]
        return replace(found, std=float(np.sqrt(variance)))

    @with_shared(DISTILLATION_DOCS)
    def distill(
        self,
        X: Any,
        *,
        kind: str = "tree",
        max_leaf_nodes: int = 16,
        out_of_fold: bool = False,
        X_test: Any = None,
        y_test: Any = None,
    ) -> DistilledModel:
        """Distil the pool: fit one interpretable model to its predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; no targets are needed.
        kind : {"tree", "linear"}, default="tree"
            A decision tree, or ridge regression.
        {max_leaf_nodes}
        out_of_fold : bool, default=False
            Whether X are the rows of ``fit``, in the same order: the model is then fitted to the
            pool's out-of-fold predictions.
        {X_test}
        y_test : array-like of shape (n_test,), default=None
            Their target.

        Returns
        -------
        DistilledModel
            The fitted ``model``; its ``fidelity``, the share of the variance of the pool's
            predictions of the test rows that it explains, None without ``X_test``; its ``rmse`` on
            the test rows, None without ``y_test``.

        Notes
        -----
        There are no scores of the rows of ``fit``, as in :meth:`EnsemblageClassifier.distill`.
        """
        if y_test is not None and X_test is None:
            raise ValueError(TEST_ROWS_MISSING)
        check_consistent_length(X_test, y_test)
        target = DistilledValues()
        return self._distill(target, X, kind, max_leaf_nodes, out_of_fold, X_test, y_test)

    def _encode_target(self, y: Any) -> NDArray[Any]:
        refuse_missing_targets(y)
        return np.asarray(column_or_1d(y, warn=True), dtype=float)

    def _explained_losses(self, outputs: Doubles, y: NDArray[Any]) -> Doubles:
        return np.asarray(self._target().uncalibrated_losses(outputs, y))

    def _explained_value(
        self, outputs: Doubles, label: Any
    ) -> tuple[Any, str, Callable[[Doubles], Doubles]]:
        if label is not None:
            raise ValueError(f"label={label!r} was given to a regressor, which has no classes.")
        return float(outputs[0, 0]), "prediction", lambda outputs: outputs[:, 0]

    def _check_fitted(self) -> None:
        self._check_pool(None)
        expect(bool(np.isfinite(self.target_mean_)), "target_mean_ is not finite")
        expect(bool(0 < self.target_scale_ < np.inf), "target_scale_ is not above zero")
        is_dict = isinstance(self.variance_correction_, dict)
        expect(
            is_dict and is_valid_correction(self.variance_correction_),
            "variance_correction_ is not valid",
        )


def _check_coverage(coverage: Any) -> None:
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} is not a number between 0 and 1, both excluded.")
