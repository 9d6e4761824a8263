"""An ensemble with one member per stratum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils.validation import column_or_1d

from ensemblage.fusion import SourcedClassifierMixin
from ensemblage.messages import DocLinkMixin, with_shared
from ensemblage.strata._hiss import HISS
from ensemblage.strata._strata_base import STRATA_DOCS, StrataEnsembleMixin
from ensemblage.strata._strata_recipe import CLASSIFIERS
from ensemblage.strata._strata_targets import ClassTarget, read_classes
from ensemblage.strata._stratum_members import Array
from ensemblage.tables import ENCODE_DOCS


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
    fusion : {"stacking", "gate", "logpool", "mean", "vote"} or Fusion, default="gate"
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

    def _read_target(self, y: Any, weights: Array) -> tuple[NDArray[Any], ClassTarget]:
        return read_classes(y, weights)

    def _keep_target(self, target: ClassTarget) -> None:
        self.classes_ = target.classes

    def _target(self) -> ClassTarget:
        return ClassTarget(self.classes_)

    def _prediction(self, fused: Array) -> Any:
        return self.classes_[fused.argmax()]

    def _row_losses(self, X: Any, y: Any) -> NDArray[np.bool_]:
        return np.asarray(self.predict(X) != column_or_1d(y))

    def _gives_probabilities(self) -> bool:
        if hasattr(self, "responses_"):
            responses, fusion = self.responses_, self.fusion_
        else:
            recipe = self._resolve()
            fusion = recipe.fusion
            responses = [kind.response for kind in (*recipe.kinds, *recipe.anchors)]
        probable = all(name == "predict_proba" for name in responses)
        return bool(fusion.gives_probabilities(probable))
