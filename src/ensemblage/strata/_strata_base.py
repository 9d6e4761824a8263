"""What ensembles with one member per stratum share, whatever they predict."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.blocks import is_source
from ensemblage.messages import expect, warn_user
from ensemblage.parallel import (
    CallbackSupportMixin,
    draw_seeds,
    final_step,
    fit_progress,
    guarded_fit,
    rows_at_final_step,
    set_seed,
    with_callbacks,
)
from ensemblage.strata._describe_strata import describe_strata
from ensemblage.strata._given_source import answer_given, given_strata, learn_pull
from ensemblage.strata._hiss import HISS
from ensemblage.strata._large_rows import fit_large
from ensemblage.strata._member_report import (
    Errors,
    expect_members,
    held_out_errors,
    report_members,
    tell_errors,
)
from ensemblage.strata._source_codes import UNKNOWN
from ensemblage.strata._strata_choice import (
    Search,
    Trial,
    candidates,
    choose_strata,
    closest_strata,
    fuse_held_out,
    rows_context,
)
from ensemblage.strata._strata_description import StrataDescription
from ensemblage.strata._strata_recipe import Recipe, Role, listed_parts, make_recipe
from ensemblage.strata._strata_rows import (
    Training,
    hold_out,
    read_rows,
    read_training,
    reads_tables,
)
from ensemblage.strata._strata_targets import Target
from ensemblage.strata._stratum_members import Array, Asked, ask_members, fit_members
from ensemblage.tables import ENCODE_CONSTRAINT, EncodeMixin

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
            StrOptions({"gate", "logpool", "mean", "stacking", "vote"}),
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
    @_fit_context(prefer_skip_nested_validation=False)
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
        held_out = choosing or (recipe.fusion.learns and not isinstance(self.cv, str))
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
        shares = self.fusion_.importance(len(members))
        if shares is not None:
            shares = np.ravel(self._correct_shares(shares[None]))
        self.member_report_ = report_members(trial.jobs, members, trial.outputs, data, shares)
        return trial, data

    def __check_state__(self) -> None:
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
        learns, outputs = self.fusion_.learns, trial.outputs
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
            sample_weight=None if data.sample_weight is None else data.weights[rows],
        )

    def _scores(self, X: Any, sources: Any = None) -> Array:
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
            return closest, np.full(len(closest), UNKNOWN)
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
        sources = getattr(final_step(self.stratifier_), "sources_", None)
        told = describe_strata(X if table is None else table, memberships, labels=sources)
        target = self._target()
        if y is None:
            errors = Errors(self.stratum_errors_, self.held_out_error_)
            return told.with_errors(*errors, "held out", of_classes=target.of_classes)
        errors = tell_errors(self._row_losses(X, y).astype(float), memberships, target)
        return told.with_errors(*errors, "given", of_classes=target.of_classes)

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

    def _read_target(self, y: Any, weights: Array) -> tuple[NDArray[Any], Target]:
        """Validate what is to be predicted; give it as numbers, and what it is."""
        raise NotImplementedError  # look: ok

    def _keep_target(self, target: Any) -> None:
        """Note what ``_target`` needs."""
        raise NotImplementedError  # look: ok

    def _target(self) -> Target:
        """Give what was read in ``fit``."""
        raise NotImplementedError  # look: ok

    def _prediction(self, fused: Array) -> Any:
        """Give what is predicted of one row, by its fused outputs."""
        raise NotImplementedError  # look: ok

    def _row_losses(self, X: Any, y: Any) -> NDArray[Any]:
        """Give the loss of each row, whose truth is given as the user writes it."""
        raise NotImplementedError  # look: ok

    def _learn_held_out(self, fused: Array, trial: Trial, data: Training) -> Array:
        """Learn what else there is to learn from rows that were held out; give them corrected."""
        return fused

    def _learn_told(self, fused: Array, trial: Trial, data: Training) -> None:
        """Learn from held-out rows what there is to learn for rows whose source is told."""

    def _correct(self, fused: Array, outputs: Array) -> Array:
        """Correct fused outputs as held-out rows taught, beside what members say."""
        return fused

    def _correct_shares(self, shares: Array) -> Array:
        """Correct the members' shares in rows, (n_rows, n_members), in the same way."""
        return shares
