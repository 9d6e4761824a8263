"""One tree whose thresholds a crowd places: the estimators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ensemblage.inner._tree_base import TREE_DOCS, BaseInnerTree
from ensemblage.kernels import RowTargets
from ensemblage.messages import with_shared
from ensemblage.parallel import as_numbers

Floats = NDArray[np.float64]

LARGEST_NUMBER = 1e70
"""Products of two sums of squares of larger ones are no numbers any more."""


@with_shared(TREE_DOCS)
class InnerTreeClassifier(ClassifierMixin, BaseInnerTree):
    r"""One decision tree whose thresholds a crowd places.

    The structure is CART's. In each node, each of many bootstraps places the threshold once more,
    on the node's own feature, near CART's. A row goes left by the share of them at or above its
    value, so near a threshold it goes both ways in part. Leaves count rows by these shares, and
    are shrunk towards their ancestors. It stays one tree, to be read and to predict with.

    Parameters
    ----------
    {n_views, window, max_leaves}
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split is judged by.
    {min_samples_leaf, shrinkage, cv, crisp, encode, random_state, n_jobs}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {tree_, alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeRegressor : For numbers.
    InnerEnsemble : The building block: a threshold is a measure over cuts, a bootstrap is a view.

    Notes
    -----
    With :math:`m_t` the row's membership in node :math:`t`, the product of its shares on the way
    there, :math:`\mu_t` the classes' shares in the node and :math:`N_t` its weight, both by
    memberships, and :math:`p(t)` the parent, the prediction is

    .. math:: f = \mu_0 + \sum_t m_t \frac{\mu_t - \mu_{p(t)}}{1 + \lambda / N_{p(t)}}.

    The cost :math:`\alpha` of a leaf and :math:`\lambda` are chosen together, by log loss over
    folds; all of them come from one tree per fold. With ``window=0`` and ``shrinkage=0`` this is
    scikit-learn's tree with ``ccp_alpha=alpha_``, bit for bit.

    What the crowd decides is the thresholds. Crowds that choose the splits, stop the growth or
    make the leaves gained nothing in accuracy. Only ordered columns gain.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu. Hierarchical Shrinkage: Improving the
    Accuracy and Interpretability of Tree-Based Methods. ICML 2022.

    J. R. Quinlan. C4.5: Programs for Machine Learning. 1993 (soft thresholds, section 8).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.inner import InnerTreeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> tree = InnerTreeClassifier(max_leaves=4, random_state=0).fit(X, y)
    >>> print(tree.to_text().splitlines()[0])
    proline <= 755 (crowd: 722.5 to 987.5)   [178 rows]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseInnerTree._parameter_constraints,  # noqa: SLF001
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
    }

    def __init__(
        self,
        n_views: int = 30,
        window: float = 0.25,
        max_leaves: int | None = 16,
        criterion: str = "gini",
        min_samples_leaf: int = 1,
        shrinkage: Any = "cv",
        cv: int = 5,
        crisp: bool = False,
        encode: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_views, window, max_leaves, criterion, min_samples_leaf, shrinkage, cv, crisp,
            encode, random_state, n_jobs,
        )  # fmt: skip

    def _targets(self, y: Any, weights: Floats) -> RowTargets:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return RowTargets(weights, codes.astype(np.int32), np.zeros(len(y)), len(self.classes_))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The leaves' shares, averaged by the row's memberships.
        """
        rows = self._rows(X)
        # memberships may add up to one and a bit, which scikit-learn's scorers refuse
        return np.minimum(self.tree_.predict(rows), 1.0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of equally probable classes the first.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


@with_shared(TREE_DOCS)
class InnerTreeRegressor(RegressorMixin, BaseInnerTree):
    r"""One regression tree whose thresholds a crowd places.

    As :class:`InnerTreeClassifier`, with the mean of a node's numbers in the place of its classes'
    shares, and squared error in the place of log loss.

    Parameters
    ----------
    {n_views, window, max_leaves}
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What a split is judged by. Poisson's deviance needs numbers that are not negative.
    {min_samples_leaf, shrinkage, cv, crisp, encode, random_state, n_jobs}

    Attributes
    ----------
    {tree_, alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeClassifier : For classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.inner import InnerTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = InnerTreeRegressor(random_state=0).fit(X, y)
    >>> tree.get_n_leaves() <= 16
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseInnerTree._parameter_constraints,  # noqa: SLF001
        "criterion": [StrOptions({"squared_error", "poisson"})],
    }

    def __init__(
        self,
        n_views: int = 30,
        window: float = 0.25,
        max_leaves: int | None = 16,
        criterion: str = "squared_error",
        min_samples_leaf: int = 1,
        shrinkage: Any = "cv",
        cv: int = 5,
        crisp: bool = False,
        encode: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_views, window, max_leaves, criterion, min_samples_leaf, shrinkage, cv, crisp,
            encode, random_state, n_jobs,
        )  # fmt: skip

    def _targets(self, y: Any, weights: Floats) -> RowTargets:
        numbers = as_numbers(column_or_1d(y, warn=True))
        if not np.isfinite(numbers).all():
            raise ValueError("`y` holds values that are not finite. Leave these rows out.")
        largest = float(np.abs(numbers).max())
        if largest > LARGEST_NUMBER:
            raise ValueError(
                f"`y` holds numbers as large as {largest:g}; those up to {LARGEST_NUMBER:g} can be "
                "squared and summed. Divide all by the same."
            )
        if self.criterion == "poisson" and (numbers.min() < 0 or weights @ numbers <= 0):
            raise ValueError(
                "`criterion='poisson'` needs numbers of `y` that are not negative, some of them "
                f"above zero; the least is {numbers.min():g}. Use 'squared_error'."
            )
        return RowTargets(weights, np.zeros(len(numbers), dtype=np.int32), numbers, 0)

    def predict(self, X: Any) -> Floats:
        """Predict numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            The leaves' means, averaged by the row's memberships.
        """
        rows = self._rows(X)
        return self.tree_.predict(rows)[:, 0]
