"""Ensembles with one member on each stratum."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ensemblage._core import (
    UNKNOWN_SOURCE,
    CallbackSupportMixin,
    DocLinkMixin,
    HasMethods,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_array,
    final_step,
    fit_context,
    fit_progress,
    guarded_fit,
    rows_at_final_step,
    set_module,
    set_seed,
    warn_user,
    with_callbacks,
    with_shared,
)
from ensemblage.blocks import is_source
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin
from ensemblage.fusion import SourcedClassifierMixin
from ensemblage.strata._choice import (
    Search,
    candidates,
    choose_strata,
    closest_strata,
    fuse_held_out,
    rows_context,
)
from ensemblage.strata._describe import Errors, StrataDescription, describe_strata
from ensemblage.strata._hiss import HISS
from ensemblage.strata._large_rows import fit_large
from ensemblage.strata._members import (
    CLASSIFIERS,
    REGRESSORS,
    Asked,
    Recipe,
    Role,
    ask_members,
    expect_members,
    fit_members,
    held_out_errors,
    hold_out,
    listed_parts,
    make_recipe,
    read_rows,
    read_training,
    reads_tables,
    report_members,
    tell_errors,
)
from ensemblage.strata._targets import (
    AS_FUSED,
    ClassTarget,
    HeldOutScores,
    LastWord,
    NumericTarget,
    Target,
    Training,
    Trial,
    answer_given,
    given_strata,
    interval_factors,
    learn_last_word,
    learn_pull,
    mix_given,
    own_outputs,
    own_shares,
    own_strata,
    own_variances,
    score_held_out,
)

Doubles = NDArray[np.float64]


STRATA_DOCS = """
stratifier : stratifier, default=None
    What divides the rows: :class:`HISS`, :class:`MixtureStrata`, :class:`BootstrapStrata`,
    :class:`SourceStrata`, a pipeline that ends in one, or your own under the same contract. If
    not given, HISS with number and size chosen.
membership : {"hard", "soft"}, default="hard"
    Give a member the strongest rows of its stratum, as many as the stratum is large, or all
    rows with their memberships as weights.
stratum_size : float, "auto" or None, default=None
    Sets the stratifier's parameter. ``"auto"`` tries 0.05, 0.1, 0.2 and 0.4 and takes the
    size with the least error on rows that members have not seen. None leaves the
    stratifier's own; without a stratifier, it means ``"auto"``.
n_strata : int, "auto" or None, default=None
    Sets the stratifier's parameter; ``"auto"`` tries 10, 20 and 40. None leaves the
    stratifier's own; without a stratifier, it means 20, or fewer where rows are few.
n_jobs : int, default=None
    Members fitted at a time, through joblib.
random_state : int, RandomState instance or None, default=None
    For the strata, the members and the folds.
max_member_rows : int, default=10000
    Rows that a member learns at most where rows are on disk or on a cluster, drawn from its
    stratum by their memberships; arrays and frames are learned whole.
stratifier_ : stratifier
    Fitted; of rows on disk or on a cluster ``memberships_`` are those of the rows drawn.
fusion_ : Fusion
    Fitted.
feature_means_ : ndarray of shape (n_features_in_,) or None
    Means of the training rows' columns; None if these are not all numbers.
held_out_error_ : float or None
    The same on all training rows that were held out.
stratum_size_, n_strata_ : float, int or None
    What was chosen or set.
trials_ : list of dict
    Settings tried and their errors.
n_left_out_ : int
    Training rows in no test fold, which the fusion did not learn from.
member_sizes_ : ndarray of shape (n_strata,)
    Number of rows that each member learned from.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


class StrataEnsembleMixin(EncodeMixin, CallbackSupportMixin):
    """Find strata, fit a member on each, and fuse what the members say.

    A class that uses it tells what its members are and how its target is read.
    """

    _role: ClassVar[Role]

    # what keeps folds apart outside keeps members apart inside, without being asked for
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
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "max_member_rows": [Interval(Integral, 2, None, closed="left")],
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
        n_jobs: int | None = None,
        random_state: Any = None,
        max_member_rows: int = 10_000,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_member_rows = max_member_rows

    # prefer_skip_nested_validation=False: stratifier and members validate their own parameters
    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sources: Any = None,
        groups: Any = None,
    ) -> Self:
        """Find the strata, fit a member on each, and learn to fuse them.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features), path or Dask collection
            Training rows. Words, dates and gaps are encoded, unless the stratifier or a member
            is a pipeline or takes words itself: then a frame reaches all of them as it is. Of rows
            on disk or on a cluster (:func:`ensemblage.blocks.open_blocks`) the strata are found on
            all, and members learn ``max_member_rows`` of their stratum at most.
        y : array-like of shape (n_samples,)
            What to predict: classes of a classifier, numbers of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are as good as absent.
        sources : array-like of shape (n_samples,), default=None
            Where each row comes from, for a stratifier that takes it (:class:`SourceStrata`); where
            a prediction is told it too, a row listens to its source's own member first.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together: a member never speaks in training about a row whose group
            it has seen. Pass the sources here if predictions are for new sources. With
            scikit-learn's routing, groups given to ``cross_validate`` or a search beside a
            group-wise ``cv`` arrive here without a request.

        Returns
        -------
        self : object
            Fitted ensemble.
        """
        if is_source(X):
            fit_large(self, X, y, sample_weight, sources=sources, groups=groups)
        else:
            self._fit_trial(X, y, sample_weight, sources, groups)
        return self

    @with_callbacks
    def _fit_trial(
        self, X: Any, y: Any, sample_weight: Any, sources: Any, groups: Any, found: Any = None
    ) -> tuple[Trial, Training]:
        """Fit; give what was found out about the strata on the way, and the rows as read.

        Strata that were ``found`` already stay as they are.
        """
        choosing = found is None and self._asks_for_choice()
        as_given = X if self._encoder_for(X) is None else None
        recipe = self._resolve(as_given, weighted=sample_weight is not None)
        held_out = choosing or (recipe.requires_fit and not isinstance(self.cv, str))
        strata_seed, member_seed, fold_seed, fusion_seed = draw_seeds(self.random_state, 4)
        recipe = recipe._replace(fusion=set_seed(clone(recipe.fusion), fusion_seed))
        data = read_training(self, X, y, sample_weight, sources, groups)
        self._keep_target(data.target)
        if held_out:
            cv = 5 if isinstance(self.cv, str) else self.cv
            data = hold_out(data, cv, fold_seed)
        stratifier = clone(HISS() if self.stratifier is None else self.stratifier)
        settings: list[dict[str, Any]] = [{}]
        if found is not None:
            stratifier = found
        else:
            settings = candidates(
                final_step(stratifier), self.stratum_size, self.n_strata, len(data.y),
                free=self.stratifier is None,
            )  # fmt: skip
        search = Search(data, set_seed(stratifier, strata_seed), recipe, fold_seed, self.n_jobs)
        with fit_progress(self, "setting", len(settings) + 1) as step:
            trial, tried = choose_strata(search, settings, step)
            members = fit_members(trial.jobs, data, member_seed, self.n_jobs)
            step()
        self._store(recipe, trial, tried, members)
        self._fit_fusion(trial, data, members)
        self.feature_means_ = (
            np.average(data.X, axis=0, weights=data.weights)
            if isinstance(data.X, np.ndarray)
            else None
        )
        fused = None
        if trial.outputs is not None and data.folds is not None:
            fused = fuse_held_out(self.fusion_, trial.outputs, data, trial.context)
            fused = self._learn_held_out(fused, trial, data)
        self.source_pull_ = learn_pull(fused, trial, data, self._target())
        if fused is not None and data.sources is not None:
            self._learn_told(fused, trial, data)
        self.stratum_errors_, self.held_out_error_ = held_out_errors(fused, trial, data)
        shares = self.fusion_.member_weights(len(members))
        if shares is not None:
            shares = np.ravel(self._correct_shares(shares[None]))
        self.member_report_ = report_members(trial.jobs, members, trial.outputs, data, shares)
        return trial, data

    def _check_fitted(self) -> None:
        """Refuse members that do not go together as those of a fit do."""
        expect_members(self, self._encoded_width(), self._target())
        n_classes = len(getattr(self, "classes_", ()))
        for each in [*self.estimators_, *self.anchors_] if n_classes else ():
            known = each.classes_.tolist()
            inside = each.classes_.dtype.kind in "iu" and 0 <= min(known) <= max(known) < n_classes
            expect(inside, "a member knows other classes")

    def _encoder_for(self, X: Any) -> Any:
        parts = [self.stratifier, *listed_parts(self.estimator), *listed_parts(self.anchor)]
        if self.encode == "auto" and any(map(reads_tables, parts)):
            return None
        return super()._encoder_for(X)

    def _asks_for_choice(self) -> bool:
        """Tell whether the strata's number or size is to be chosen."""
        free = self.stratifier is None and self.stratum_size is None
        return free or "auto" in (self.stratum_size, self.n_strata)

    def _resolve(self, X: Any = None, *, weighted: bool = False) -> Recipe:
        """Make of the parameters what the ensemble is made of; refuse what cannot work on X."""
        return make_recipe(
            self.estimator,
            self.anchor,
            self.fusion,
            final_estimator=self.final_estimator,
            X=X,
            soft=self.membership == "soft",
            weighted=weighted,
            role=self._role,
        )

    def _store(self, recipe: Recipe, trial: Trial, tried: list[Trial], members: list[Any]) -> None:
        """Keep strata and members, and warn of members that have nothing to tell apart."""
        self.stratifier_, self.n_strata_ = trial.stratifier, trial.n_strata
        self.stratum_size_ = trial.settings.get("stratum_size")
        self.trials_ = [{**each.settings, "error": each.error} for each in tried]
        n_own = len(members) - len(recipe.anchors)
        self.estimators_, self.anchors_ = members[:n_own], members[n_own:]
        self.responses_ = [job.response for job in trial.jobs]
        self.fusion_ = recipe.fusion
        self.member_sizes_ = np.array([len(job.rows) for job in trial.jobs[: trial.n_strata]])
        target = self._target()
        constant = [target.is_constant(member) for member in members[: trial.n_strata]]
        self.constant_strata_ = np.flatnonzero(constant)
        if len(self.constant_strata_) > 0:
            warn_user(
                f"{len(self.constant_strata_)} of {len(constant)} strata hold {target.one_value}",
            )

    def _fit_fusion(self, trial: Trial, data: Training, members: list[Any]) -> None:
        self.n_left_out_ = 0
        numeric, outputs = not data.target.is_classification, trial.outputs
        learns = self.fusion_.requires_fit(numeric=numeric)
        if isinstance(self.cv, str) and learns:
            outputs = ask_members(members, self.responses_, data.X, data.target)
        usable = data.weights > 0
        if outputs is not None and learns:
            known = np.isfinite(outputs).all(axis=(0, 2))
            self.n_left_out_ = int((~known).sum())
            usable &= known
        rows = np.flatnonzero(usable)
        self.fusion_.fit(
            None if outputs is None else outputs[:, rows],
            data.y[rows],
            trial.context.take(rows),
            numeric=numeric,
            sample_weight=None if data.sample_weight is None else data.weights[rows],
        )

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        asked = self._ask(X)
        fused = self._correct(self.fusion_.combine(asked.outputs, asked.context), asked.outputs)
        if sources is None:
            return fused
        return answer_given(self, asked.outputs, fused, self._target(), sources)

    def _ask(self, X: Any) -> Asked:
        check_is_fitted(self)
        X = read_rows(self, X)
        members = [*self.estimators_, *self.anchors_]
        outputs = ask_members(members, self.responses_, X, self._target())
        return Asked(X, outputs, rows_context(self.stratifier_, X, self.fusion_.needs))

    def _strata_of(self, X: Any, sources: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Give the strata that rows are closest to, and those of their sources, -1 if not known."""
        closest = closest_strata(self.stratifier_, read_rows(self, X))
        if sources is None:
            return closest, np.full(len(closest), UNKNOWN_SOURCE)
        return closest, given_strata(self, sources, len(closest))

    def describe_strata(self, X: Any, y: Any = None, *, table: Any = None) -> StrataDescription:
        """Tell what each stratum is: the columns in which it differs most from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as in ``predict``: best those of the training, and many.
        y : array-like of shape (n_samples,), default=None
            What they truly are, to count errors on them. Without, errors are those on training
            rows that had been held out, where the fit has such.
        table : dataframe or array-like of shape (n_samples, n_columns), default=None
            The same rows before they were encoded, to be told in their own units and words; X
            if not given.

        Returns
        -------
        StrataDescription
            Names, sizes, errors and differences: a value that prints as a table.

        See Also
        --------
        describe_strata : The same of any memberships, with names of columns.
        """
        check_is_fitted(self)
        rows = read_rows(self, X)
        memberships = np.asarray(self.stratifier_.transform(rows), dtype=float)
        sources = getattr(final_step(self.stratifier_), "stratum_names_", None)
        told = describe_strata(X if table is None else table, memberships, labels=sources)
        target = self._target()
        if y is None:
            errors = Errors(self.stratum_errors_, self.held_out_error_)
            return told.with_errors(*errors, "held out", of_classes=target.is_classification)
        errors = tell_errors(self._row_losses(X, y).astype(float), memberships, target)
        return told.with_errors(*errors, "given", of_classes=target.is_classification)

    def explain_row(self, x: Any) -> dict[str, Any]:
        """Tell which strata and members decided about one row.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.

        Returns
        -------
        dict
            ``prediction``; ``scores`` (one per class, or mean and variance of a number);
            ``strata`` (memberships of the row); ``members`` (outputs of each member, as many,
            anchors last); ``weights`` (share of each stratum's member and anchor for this row, or
            None where there is no such number).
        """
        kept = object if hasattr(self, "encoder_") else None
        row = x if hasattr(x, "columns") else np.asarray(x, dtype=kept).reshape(1, -1)
        X, outputs, context = self._ask(row)
        scores = self._correct(self.fusion_.combine(outputs, context), outputs)[0]
        weights = self.fusion_.row_weights(outputs, context)
        strata = final_step(self.stratifier_).transform(rows_at_final_step(self.stratifier_, X))
        return {
            "prediction": self._prediction(scores),
            "scores": scores,
            "strata": np.asarray(strata)[0],
            "members": outputs[:, 0],
            "weights": None if weights is None else self._correct_shares(weights)[0],
        }

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], Target]:
        """Validate what is to be predicted; give it as numbers, and what it is."""
        raise NotImplementedError  # look: ok

    def _keep_target(self, target: Any) -> None:
        """Note what ``_target`` needs."""
        raise NotImplementedError  # look: ok

    def _target(self) -> Target:
        """Give what was read in ``fit``."""
        raise NotImplementedError  # look: ok

    def _prediction(self, fused: Doubles) -> Any:
        """Give what is predicted of one row, by its fused outputs."""
        raise NotImplementedError  # look: ok

    def _row_losses(self, X: Any, y: Any) -> NDArray[Any]:
        """Give the loss of each row, whose truth is given as the user writes it."""
        raise NotImplementedError  # look: ok

    def _learn_held_out(self, fused: Doubles, trial: Trial, data: Training) -> Doubles:
        """Learn what else there is to learn from rows that were held out; give them corrected."""
        return fused

    def _learn_told(self, fused: Doubles, trial: Trial, data: Training) -> None:
        """Learn from held-out rows what there is to learn for rows whose source is told."""

    def _correct(self, fused: Doubles, outputs: Doubles) -> Doubles:
        """Correct fused outputs as held-out rows taught, beside what members say."""
        return fused

    def _correct_shares(self, shares: Doubles) -> Doubles:
        """Correct the members' shares in rows, (n_rows, n_members), in the same way."""
        return shares


@set_module("ensemblage.strata")
@with_shared(STRATA_DOCS + ENCODE_DOCS)
class StrataEnsembleClassifier(
    StrataEnsembleMixin, SourcedClassifierMixin, DocLinkMixin, BaseEstimator
):
    """An ensemble whose members each learn one stratum of the rows.

    Where data come from several sources, one model fits nobody well. This ensemble finds strata
    of similar rows, fits a member on each, and fuses what the members say.

    Parameters
    ----------
    {stratifier}
    estimator : classifier or list of classifiers, default=None
        The member, or several kinds of member on each stratum; logistic regression on columns
        standardised within the stratum (:class:`ScaledLogisticRegression`) if not given.
    fusion : {"stacking", "gate", "log_linear", "mean", "vote"} or Fusion, default="gate"
        How members' outputs become one. ``"gate"`` lets each row listen to the members whose
        strata it is close to; with an anchor, what the gate says is pooled with the anchor.
    final_estimator : classifier, default=None
        The classifier that stacking fits on the members' outputs; logistic regression if not
        given.
    {membership}
    anchor : None, "svm", classifier or list of these, default=None
        Members that learn all rows beside the strata; ``"svm"`` is a lightly tuned RBF support
        vector machine.
    {stratum_size, n_strata}
    cv : int, "in-sample", splitter or iterable, default=5
        Folds from which a learning fusion gets outputs on rows that the members have not seen.
        The strata stay as they are, since they know no labels; only members are fitted again.
        ``"in-sample"`` uses outputs on the training rows themselves, as the paper does.
    {encode}
    {n_jobs}
    {random_state, max_member_rows}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    {stratifier_}
    estimators_ : list of classifiers
        Fitted members, one per stratum; of several kinds, kind by kind.
    anchors_ : list of classifiers
        Fitted members on all rows.
    {fusion_}
    responses_ : list of {"predict_proba", "decision_function", "predict"}
        What each member is asked for, anchors last.
    member_report_ : list of dict
        Per member: ``stratum`` (None for an anchor), ``estimator``, ``n_rows``, ``classes``,
        ``constant``, ``weight`` (its share in the fusion, None where that differs by row) and
        ``score`` (accuracy on rows of its stratum that it had not seen, None if not measured).
    {feature_means_}
    source_pull_ : float
        How many rows of a source count as much as all members, where :class:`SourceStrata` are told
        the source at prediction: its own member has the share n / (n + pull) of the answer.
    stratum_errors_ : list of float or None
        Share of wrong predictions on each stratum's rows, by membership, where neither members
        nor fusion had seen them; None where that is not known.
    {held_out_error_, stratum_size_, n_strata_, trials_, n_left_out_, member_sizes_}
    constant_strata_ : ndarray of int
        Strata with one class only, whose member always says that class.
    {encoder_}
    {n_features_in_}
    {feature_names_in_}

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

    _role = CLASSIFIERS

    @classmethod
    def paper(cls, *, n_jobs: int | None = None, random_state: Any = None) -> Pipeline:
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

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], ClassTarget]:
        return ClassTarget.read(y, weights)

    def _keep_target(self, target: ClassTarget) -> None:
        self.classes_ = target.classes

    def _target(self) -> ClassTarget:
        return ClassTarget(self.classes_)

    def _prediction(self, fused: Doubles) -> Any:
        return self.classes_[fused.argmax()]

    def _row_losses(self, X: Any, y: Any) -> NDArray[np.bool_]:
        return np.asarray(self.predict(X) != column_or_1d(y))

    def _returns_probabilities(self) -> bool:
        if hasattr(self, "responses_"):
            responses, fusion = self.responses_, self.fusion_
        else:
            recipe = self._resolve()
            fusion = recipe.fusion
            responses = [kind.response for kind in (*recipe.kinds, *recipe.anchors)]
        probable = all(name == "predict_proba" for name in responses)
        return bool(fusion.returns_probabilities(probable))


@set_module("ensemblage.strata")
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
    fusion : {"gate", "log_linear", "stacking", "mean"} or Fusion, default="gate"
        How members' densities become one. ``"gate"`` mixes those of the members whose strata a row
        is close to; with an anchor, what the gate says is pooled with the anchor. ``"log_linear"``
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
    rows that it had not seen (see :class:`~ensemblage.fusion.AffinityGate` and
    :class:`~ensemblage.fusion.LogLinearPool`); a member whose ``predict`` takes ``return_std`` says
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
            StrOptions({"gate", "log_linear", "mean", "stacking"}),
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

    def predict_interval(self, X: Any, coverage: float = 0.9, sources: Any = None) -> Doubles:
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

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], NumericTarget]:
        return NumericTarget.read(y, weights)

    def _keep_target(self, target: NumericTarget) -> None:
        self.target_scale_ = target.scale
        # as it stays where nothing is held out
        self.anchor_, self.anchor_share_, self.spread_factor_, self.spread_floor_ = AS_FUSED
        self.own_variances_: Doubles | None = None
        self.held_out_scores_: HeldOutScores | None = None
        self.told_scores_: HeldOutScores | None = None

    def _target(self) -> NumericTarget:
        return NumericTarget(self.target_scale_, self.own_variances_)

    def _prediction(self, fused: Doubles) -> float:
        return float(fused[0])

    def _row_losses(self, X: Any, y: Any) -> Doubles:
        return np.asarray((self.predict(X) - column_or_1d(y)) ** 2)

    def _learn_held_out(self, fused: Doubles, trial: Trial, data: Training) -> Doubles:
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

    def _learn_told(self, fused: Doubles, trial: Trial, data: Training) -> None:
        strata, outputs = own_strata(trial), np.asarray(trial.outputs)
        own = own_outputs(outputs, strata, trial.n_strata)
        shares = own_shares(self.member_sizes_.astype(float), self.source_pull_)
        told = mix_given(own, fused, strata, self._target(), shares)
        known = np.flatnonzero(np.isfinite(told).all(axis=1) & (data.weights > 0))
        if len(known) > 0:
            self.told_scores_ = score_held_out(told, known, strata, trial.n_strata, data)

    def _anchored(self, outputs: Doubles) -> Doubles:
        """Give the anchors' means."""
        return outputs[len(outputs) - len(self.anchors_) :, :, 0]

    def _last_word(self) -> LastWord:
        return LastWord(self.anchor_, self.anchor_share_, self.spread_factor_, self.spread_floor_)

    def _correct(self, fused: Doubles, outputs: Doubles) -> Doubles:
        return self._last_word().say(fused, self._anchored(outputs))

    def _correct_shares(self, shares: Doubles) -> Doubles:
        if self.anchor_share_ == 0:
            return shares
        shares = shares * (1 - self.anchor_share_)
        shares[:, len(self.estimators_) + self.anchor_] += self.anchor_share_
        return shares

    def _check_fitted(self) -> None:
        """Refuse members and residuals that do not go together as those of a fit do."""
        super()._check_fitted()
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
