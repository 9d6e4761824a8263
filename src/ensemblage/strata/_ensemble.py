"""An ensemble with one member per stratum."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemblage.fusion import AnchoredGate, Fusion, FusionContext, Gate, resolve_fusion
from ensemblage.parallel import draw_seeds, set_seed
from ensemblage.strata._anchor import resolve_anchors
from ensemblage.strata._auto import candidates
from ensemblage.strata._crew import crew_outputs, fit_crew, response_of
from ensemblage.strata._folds import make_folds
from ensemblage.strata._frames import is_mixed_frame
from ensemblage.strata._fused import FusedClassifierMixin
from ensemblage.strata._hiss import HISS
from ensemblage.strata._inspect import explain_one_row, report_members
from ensemblage.strata._scaled_logistic import ScaledLogisticRegression
from ensemblage.strata._stratify import final_step, strata_affinity
from ensemblage.strata._trial import Crew, Training, Trial, try_strata

FUSIONS = {"gate", "logpool", "mean", "stacking", "vote"}

# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


class StrataEnsembleClassifier(FusedClassifierMixin, BaseEstimator):
    """An ensemble whose members each learn one stratum of the rows.

    Where data come from several sources, one model fits nobody well. This ensemble finds strata
    of similar rows, fits a member on each, and fuses what the members say.

    Parameters
    ----------
    stratifier : stratifier, default=None
        What divides the rows: :class:`HISS`, :class:`MixtureStrata`, :class:`BootstrapStrata`,
        :class:`SourceStrata`, a pipeline that ends in one, or your own under the same contract. If
        not given, HISS with number and size chosen.
    estimator : classifier or list of classifiers, default=None
        The member, or several kinds of member on each stratum; logistic regression on columns
        standardised within the stratum (:class:`ScaledLogisticRegression`) if not given.
    fusion : {"stacking", "gate", "logpool", "mean", "vote"} or Fusion, default="gate"
        How members' outputs become one. ``"gate"`` lets each row listen to the members whose
        strata it is close to; with an anchor, what the gate says is pooled with the anchor.
    final_estimator : classifier, default=None
        The classifier that stacking fits on the members' outputs; logistic regression if not
        given.
    membership : {"hard", "soft"}, default="hard"
        Give a member the strongest rows of its stratum, as many as the stratum is large, or all
        rows with their memberships as weights.
    anchor : None, "svm", classifier or list of these, default=None
        Members that learn all rows beside the strata; ``"svm"`` is a lightly tuned RBF support
        vector machine.
    stratum_size : float, "auto" or None, default=None
        Sets the stratifier's parameter. ``"auto"`` tries 0.05, 0.1, 0.2 and 0.4 and takes the
        size with the least error on rows that members have not seen. None leaves the
        stratifier's own; without a stratifier, it means ``"auto"``.
    n_strata : int, "auto" or None, default=None
        Sets the stratifier's parameter; ``"auto"`` tries 10, 20 and 40. None leaves the
        stratifier's own; without a stratifier, it means 20, or fewer where rows are few.
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
        Fitted members, one per stratum; of several kinds, kind by kind.
    anchors_ : list of classifiers
        Fitted members on all rows.
    fusion_ : Fusion
        Fitted.
    member_report_ : list of dict
        Per member: ``stratum`` (None for an anchor), ``estimator``, ``n_rows``, ``classes``,
        ``constant``, ``weight`` (its share in the fusion, None where that differs by row) and
        ``score`` (accuracy on rows of its stratum that it had not seen, None if not measured).
    stratum_size_, n_strata_ : float, int or None
        What was chosen or set.
    trials_ : list of dict
        Settings tried and their errors.
    n_left_out_ : int
        Training rows in no test fold, which the fusion did not learn from.
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
        "estimator": [HasMethods(["fit", "predict"]), list, tuple, None],
        "fusion": [StrOptions(FUSIONS), HasMethods(["fit", "combine"])],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "membership": [StrOptions({"hard", "soft"})],
        "anchor": [HasMethods(["fit", "predict"]), str, list, tuple, None],
        "stratum_size": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"}), None],
        "n_strata": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"in-sample"}), "cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stratifier=None,
        estimator=None,
        *,
        fusion="gate",
        final_estimator=None,
        membership="hard",
        anchor=None,
        stratum_size=None,
        n_strata=None,
        cv=5,
        n_jobs=None,
        random_state=None,
    ):
        self.stratifier = stratifier
        self.estimator = estimator
        self.fusion = fusion
        self.final_estimator = final_estimator
        self.membership = membership
        self.anchor = anchor
        self.stratum_size = stratum_size
        self.n_strata = n_strata
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
            HISS(20, 0.4, covariance_type="spherical", polish=False),
            SVC(kernel="linear"),
            fusion="stacking",
            final_estimator=SVC(),
            cv="in-sample",
            n_jobs=n_jobs,
            random_state=random_state,
        )
        return make_pipeline(MinMaxScaler(), ensemble)

    # prefer_skip_nested_validation=False: stratifier and members validate their own parameters
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, sources=None, groups=None):
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
        sources : array-like of shape (n_samples,), default=None
            Where each row comes from, for a stratifier that takes it (:class:`SourceStrata`).
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together: a member never speaks in training about a row whose group
            it has seen. Pass the sources here if predictions are for new sources.

        Returns
        -------
        self : object
            Fitted ensemble.
        """
        strata_seed, member_seed, fold_seed, fusion_seed = draw_seeds(self.random_state, 4)
        data = self._validate_training(X, y, sample_weight, sources, groups, fold_seed)
        fusion = set_seed(clone(self._fusion()), fusion_seed)
        trial = self._choose_strata(data, fusion, strata_seed, fold_seed)
        self.stratifier_ = trial.stratifier
        members = fit_crew(trial.jobs, data.X, data.y, member_seed, self.n_jobs)
        n_own = len(members) - len(resolve_anchors(self.anchor))
        self.estimators_, self.anchors_ = members[:n_own], members[n_own:]
        self.member_sizes_ = np.array([len(job.rows) for job in trial.jobs[: self.n_strata_]])
        self._note_constant_members()
        self._fit_fusion(fusion, trial, data)
        self.member_report_ = report_members(
            trial.jobs, members, trial.outputs, data.y, self.classes_, self.fusion_
        )
        return self

    def _validate_training(self, X, y, sample_weight, sources, groups, seed) -> Training:
        if is_mixed_frame(X):
            validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self._fusion(numeric=False)
        else:
            X, y = validate_data(self, X, y, **ARRAYS, ensure_min_samples=2)
        check_classification_targets(y)
        check_consistent_length(X, sources, groups)
        self.classes_, y = np.unique(y, return_inverse=True)
        weights = self._validate_weights(X, y, sample_weight)
        folds = None
        if self._fusion().learns or self._asks_for_choice():
            in_sample = isinstance(self.cv, str) and not self._asks_for_choice()
            cv = 5 if isinstance(self.cv, str) else self.cv
            folds = None if in_sample else make_folds(cv, X, y, self.classes_, seed, groups)
        return Training(X, y, weights, sample_weight is not None, sources, folds)

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

    def _fusion(self, *, numeric: bool = True) -> Fusion:
        offered = frozenset({"affinity", "X"} if numeric else {"affinity"})
        fusion = resolve_fusion(self.fusion, offered=offered, final_estimator=self.final_estimator)
        n_anchors = len(resolve_anchors(self.anchor))
        if isinstance(fusion, Gate) and n_anchors + len(self._kinds()) > 1:
            return AnchoredGate(fusion, n_anchors=n_anchors)
        return fusion

    def _kinds(self) -> list:
        """List the kinds of member on each stratum."""
        if self.estimator is None:
            return [ScaledLogisticRegression()]
        several = isinstance(self.estimator, list | tuple)
        return list(self.estimator) if several else [self.estimator]

    def _responses(self) -> list[str]:
        """Name the method that each member is asked for, anchors last."""
        n_strata = getattr(self, "n_strata_", 1)
        kinds = [response_of(kind) for kind in self._kinds() for _ in range(n_strata)]
        return kinds + [response_of(each) for each in resolve_anchors(self.anchor)]

    def _gives_probabilities(self) -> bool:
        probable = all(name == "predict_proba" for name in self._responses())
        return self._fusion().gives_probabilities(probable)

    def _asks_for_choice(self) -> bool:
        """Tell whether the strata's number or size is to be chosen."""
        free = self.stratifier is None and self.stratum_size is None
        return free or "auto" in (self.stratum_size, self.n_strata)

    def _settings(self, n_samples: int) -> list[dict]:
        """Parameters of the stratifier to try."""
        if self.stratifier is None:
            size = "auto" if self.stratum_size is None else self.stratum_size
            count = min(max(n_samples // 10, 2), 20) if self.n_strata is None else self.n_strata
            return candidates(HISS(), size, count, n_samples)
        return candidates(final_step(self.stratifier), self.stratum_size, self.n_strata, n_samples)

    def _choose_strata(self, data: Training, fusion, strata_seed, fold_seed) -> Trial:
        settings = self._settings(len(data.y))
        stratifier = set_seed(
            clone(HISS() if self.stratifier is None else self.stratifier), strata_seed
        )
        crew = Crew(self._kinds(), resolve_anchors(self.anchor), self.membership == "soft")
        several = len(settings) > 1
        trials = [
            try_strata(
                data, stratifier, each, crew, fusion,
                judge=several, seed=fold_seed, n_jobs=self.n_jobs,
            )
            for each in settings
        ]  # fmt: skip
        best = int(np.argmin([trial.error for trial in trials]))
        self.stratum_size_ = settings[best].get("stratum_size")
        self.n_strata_ = trials[best].memberships.shape[1]
        self.trials_ = [
            {**each, "error": trial.error} for each, trial in zip(settings, trials, strict=True)
        ] * several
        return trials[best]

    def _note_constant_members(self) -> None:
        first_kind = self.estimators_[: self.n_strata_]
        one_class = [len(member.classes_) == 1 for member in first_kind]
        self.constant_strata_ = np.flatnonzero(one_class)
        if len(self.constant_strata_) > 0:
            warnings.warn(
                f"{len(self.constant_strata_)} of {len(one_class)} strata hold one class only; "
                "their members always say that class. Larger or fewer strata would mix classes "
                "more.",
                UserWarning,
                stacklevel=3,
            )

    def _fit_fusion(self, fusion, trial: Trial, data: Training) -> None:
        self.fusion_, self.n_left_out_ = fusion, 0
        outputs = trial.outputs
        if isinstance(self.cv, str) and fusion.learns:
            outputs = self._outputs(data.X)
        usable = data.weights > 0
        if outputs is not None and fusion.learns:
            known = np.isfinite(outputs).all(axis=(0, 2))
            self.n_left_out_ = int((~known).sum())
            usable &= known
        rows = np.flatnonzero(usable)
        fusion.fit(
            None if outputs is None else outputs[:, rows],
            data.y[rows],
            trial.context.take(rows),
            sample_weight=data.weights[rows] if data.weighted else None,
        )

    def _outputs(self, X) -> np.ndarray:
        """Member outputs, of shape (n_members, n_samples, n_classes), anchors last."""
        members = [*self.estimators_, *self.anchors_]
        return crew_outputs(members, self._responses(), X, len(self.classes_))

    def _validate_rows(self, X):
        check_is_fitted(self)
        if is_mixed_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        return validate_data(self, X, **ARRAYS, reset=False)

    def _scores(self, X) -> np.ndarray:
        X = self._validate_rows(X)
        return self.fusion_.combine(self._outputs(X), self._context(X))

    def _context(self, X) -> FusionContext:
        needs = self.fusion_.needs
        return FusionContext(
            affinity=strata_affinity(self.stratifier_, X) if "affinity" in needs else None,
            X=X if "X" in needs else None,
        )

    def explain_row(self, x):
        """Tell which strata and members decided about one row.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.

        Returns
        -------
        dict
            ``prediction``; ``scores`` (one per class); ``strata`` (memberships of the row);
            ``members`` (outputs of each member, one per class, anchors last); ``weights`` (share
            of each stratum's member and anchor for this row, or None where there is no such
            number).
        """
        row = x if hasattr(x, "columns") else np.asarray(x).reshape(1, -1)
        return explain_one_row(self, self._validate_rows(row))
