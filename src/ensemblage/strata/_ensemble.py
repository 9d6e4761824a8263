"""An ensemble with one member per stratum."""

from __future__ import annotations

import warnings
from numbers import Integral

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemblage.fusion import Fusion, Mean, Stacking, Vote
from ensemblage.parallel import draw_seeds, run_tasks, set_seed
from ensemblage.strata._folds import make_folds
from ensemblage.strata._hiss import HISS
from ensemblage.strata._members import (
    fit_member,
    hard_rows,
    held_out_outputs,
    member_outputs,
    soft_rows,
    weight_parameter,
)
from ensemblage.strata._stratify import fit_strata, strata_affinity

FUSIONS = {"mean": Mean, "vote": Vote, "stacking": Stacking}


def default_stratifier(n_samples: int) -> HISS:
    """HISS with a fifth of the rows per stratum, fewer and larger strata where rows are few.

    Parameters
    ----------
    n_samples : int
        Number of rows.

    Returns
    -------
    HISS
        Unfitted; up to 20 strata, of at least ten rows where there are ten.
    """
    n_strata = min(max(n_samples // 10, 2), 20)
    return HISS(n_strata=n_strata, stratum_size=max(0.2, min(1.0, 10 / n_samples)))


def is_mixed_frame(X) -> bool:
    """Tell whether X is a frame with columns that are not numeric.

    Parameters
    ----------
    X : object
        Input to ``fit`` or ``predict``.

    Returns
    -------
    bool
        False for arrays, and for frames that an array of floats can hold.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def _gives_probabilities(self) -> bool:
    return self._fusion().gives_probabilities(self._response() == "predict_proba")


def _gives_decisions(self) -> bool:
    return not _gives_probabilities(self)


class StrataEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """An ensemble whose members each learn one stratum of the rows.

    Where data come from several sources, one model fits nobody well. This ensemble finds strata
    of similar rows, fits a member on each, and fuses what the members say.

    Parameters
    ----------
    stratifier : stratifier, default=None
        What divides the rows: :class:`HISS`, :class:`MixtureStrata`, :class:`BootstrapStrata`, a
        pipeline that ends in one, or your own under the same contract. If not given, HISS with
        up to 20 strata of a fifth of the rows each.
    estimator : classifier, default=None
        The member; logistic regression if not given.
    fusion : {"stacking", "mean", "vote"} or Fusion, default="stacking"
        How members' outputs become one.
    final_estimator : classifier, default=None
        The classifier that stacking fits on the members' outputs; logistic regression if not
        given.
    membership : {"hard", "soft"}, default="hard"
        Give a member the strongest rows of its stratum, as many as the stratum is large, or all
        rows with their memberships as weights.
    cv : int, "in-sample", splitter or iterable, default=5
        Folds from which a learning fusion gets outputs on rows that the members have not seen.
        The strata stay as they are, since they know no labels; only members are fitted again.
        ``"in-sample"`` uses outputs on the training rows themselves, as the paper does.
    n_jobs : int, default=None
        Members fitted at a time, through joblib.
    random_state : int, RandomState instance or None, default=None
        For the strata, the members and the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    stratifier_ : stratifier
        Fitted.
    estimators_ : list of classifiers
        Fitted members, one per stratum.
    fusion_ : Fusion
        Fitted.
    member_sizes_ : ndarray of shape (n_strata,)
        Number of rows that each member learned from.
    constant_strata_ : ndarray of int
        Strata with one class only, whose member always says that class.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    HISS : The strata of the paper.

    Notes
    -----
    A linear final estimator on the decision values of linear members is again one linear
    classifier; members that give probabilities, or a kernel in the final estimator, avoid that.

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

    _parameter_constraints: dict = {  # noqa: RUF012
        "stratifier": [HasMethods(["fit", "transform"]), None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "fusion": [StrOptions(set(FUSIONS)), HasMethods(["fit", "combine"])],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "membership": [StrOptions({"hard", "soft"})],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"in-sample"}), "cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stratifier=None,
        estimator=None,
        *,
        fusion="stacking",
        final_estimator=None,
        membership="hard",
        cv=5,
        n_jobs=None,
        random_state=None,
    ):
        self.stratifier = stratifier
        self.estimator = estimator
        self.fusion = fusion
        self.final_estimator = final_estimator
        self.membership = membership
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, *, n_jobs=None, random_state=None):
        """Give the ensemble of the paper's experiments.

        Parameters
        ----------
        n_jobs : int, default=None
            Members fitted at a time.
        random_state : int, RandomState instance or None, default=None
            For the strata.

        Returns
        -------
        Pipeline
            Columns scaled to [0, 1], 20 strata of 40 % of the rows with one variance each, a
            linear support vector machine on each, and another, with an RBF kernel, on their
            decision values for the training rows.
        """
        ensemble = cls(
            HISS(n_strata=20, stratum_size=0.4, covariance_type="spherical"),
            SVC(kernel="linear"),
            final_estimator=SVC(),
            cv="in-sample",
            n_jobs=n_jobs,
            random_state=random_state,
        )
        return make_pipeline(MinMaxScaler(), ensemble)

    # prefer_skip_nested_validation=False: stratifier and members validate their own parameters
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Find the strata, fit a member on each, and learn to fuse them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. A frame with columns that are not numeric reaches stratifier and
            members as it is.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are as good as absent.

        Returns
        -------
        self : object
            Fitted ensemble.
        """
        X, y = self._validate_training(X, y)
        self.classes_, y = np.unique(y, return_inverse=True)
        weights = self._validate_weights(X, y, sample_weight)
        strata_seed, member_seed, fold_seed, fusion_seed = draw_seeds(self.random_state, 4)
        stratifier = default_stratifier(len(y)) if self.stratifier is None else self.stratifier
        self.stratifier_ = set_seed(clone(stratifier), strata_seed)
        memberships = fit_strata(self.stratifier_, X, None if sample_weight is None else weights)
        plans = self._plan_members(memberships, weights, sample_weight is not None)
        self._fit_members(X, y, plans, member_seed)
        self.fusion_ = set_seed(clone(self._fusion()), fusion_seed)
        self._fit_fusion(X, y, plans, weights, sample_weight is not None, fold_seed)
        return self

    def _validate_training(self, X, y):
        if is_mixed_frame(X):
            validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    def _validate_weights(self, X, y, sample_weight) -> np.ndarray:
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[0]!r}; a classifier needs at least two."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        absent = np.bincount(y, weights) == 0
        if absent.any():
            raise ValueError(
                f"sample_weight leaves no weight to class {self.classes_[absent][0]!r}. "
                "Leave its rows out, or give some of them weight."
            )
        return weights

    def _fusion(self) -> Fusion:
        if not isinstance(self.fusion, str):
            return self.fusion
        return FUSIONS[self.fusion](*[self.final_estimator] * (self.fusion == "stacking"))

    def _member(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _response(self) -> str:
        """Name the method that members are asked for."""
        wanted = ("predict_proba", "decision_function", "predict")
        return next(name for name in wanted if hasattr(self._member(), name))

    def _plan_members(self, memberships, weights, weighted: bool) -> list[tuple]:
        """Rows and weights of each member."""
        soft = self.membership == "soft"
        if (soft or weighted) and weight_parameter(self._member()) is None:
            reason = "membership='soft'" if soft else "sample_weight"
            raise ValueError(
                f"{reason} needs members that take sample_weight; "
                f"{type(self._member()).__name__}.fit does not. Choose another estimator, or "
                "membership='hard' without sample_weight."
            )
        plans = []
        for membership in memberships.T:
            rows = (soft_rows if soft else hard_rows)(membership, weights)
            passed = membership * weights if soft else weights if weighted else None
            plans.append((rows, passed))
        return plans

    def _fit_members(self, X, y, plans, seed: int) -> None:
        seeds = draw_seeds(seed, len(plans))
        tasks = [(self._member(), X, y, *plan, own) for plan, own in zip(plans, seeds, strict=True)]
        self.estimators_ = run_tasks(fit_member, tasks, self.n_jobs)
        self.member_sizes_ = np.array([len(rows) for rows, _ in plans])
        one_class = [len(member.classes_) == 1 for member in self.estimators_]
        self.constant_strata_ = np.flatnonzero(one_class)
        if len(self.constant_strata_) > 0:
            warnings.warn(
                f"{len(self.constant_strata_)} of {len(plans)} strata hold one class only; their "
                "members always say that class. Larger or fewer strata would mix classes more.",
                UserWarning,
                stacklevel=3,
            )

    def _fit_fusion(self, X, y, plans, weights, weighted: bool, seed: int) -> None:
        usable = weights > 0
        if not self.fusion_.learns:
            return
        if isinstance(self.cv, str):
            outputs = self._outputs(X)
        else:
            outputs = self._held_out(X, y, plans, seed)
            usable &= np.isfinite(outputs).all(axis=(0, 2))
        rows = np.flatnonzero(usable)
        self.fusion_.fit(
            outputs[:, rows],
            y[rows],
            affinity=self._affinity(_safe_indexing(X, rows)),
            sample_weight=weights[rows] if weighted else None,
        )

    def _held_out(self, X, y, plans, seed: int) -> np.ndarray:
        """Ask members about rows they were not fitted on; NaN for rows in no test fold."""
        folds = make_folds(self.cv, X, y, self.classes_, seed)
        pairs = [(fold, plan) for fold in folds for plan in plans]
        asked = (len(self.classes_), self._response())
        tasks = []
        for (fold, plan), own in zip(pairs, draw_seeds(seed, len(pairs)), strict=True):
            (train, test), (rows, passed) = fold, plan
            kept = np.intersect1d(rows, train)
            kept = kept if len(kept) > 0 else train
            tasks.append((self._member(), X, y, kept, passed, own, test, *asked))
        outputs = np.full((len(plans), len(y), len(self.classes_)), np.nan)
        for i, part in enumerate(run_tasks(held_out_outputs, tasks, self.n_jobs)):
            outputs[i % len(plans), folds[i // len(plans)][1]] = part
        return outputs

    def _outputs(self, X) -> np.ndarray:
        """Member outputs, of shape (n_members, n_samples, n_classes)."""
        n_classes, response = len(self.classes_), self._response()
        return np.stack(
            [member_outputs(member, X, n_classes, response) for member in self.estimators_]
        )

    def _affinity(self, X):
        return strata_affinity(self.stratifier_, X) if self.fusion_.uses_affinity else None

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        if is_mixed_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.fusion_.combine(self._outputs(X), self._affinity(X))

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X).argmax(axis=1)
        return self.classes_[winners]

    @available_if(_gives_probabilities)
    def predict_proba(self, X):
        """Predict class probabilities, where the fusion gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._scores(X)

    @available_if(_gives_decisions)
    def decision_function(self, X):
        """Fused decision values, where the fusion gives no probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per row for two classes: positive for the second.
        """
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores
