"""Agreement of a clustering with known classes."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length


def purity_score(labels_true: Any, labels_pred: Any) -> float:
    r"""Share of rows that belong to the largest class of their cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        Between the share of the largest class and 1. It increases with the number of clusters:
        compare only clusterings with equally many.

    Notes
    -----
    :math:`\sum_j \frac{n_j}{n} P_j`, where :math:`P_j` is the share of the largest class among
    the :math:`n_j` rows of cluster j (Inner Ensembles, eq. 2).

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    Examples
    --------
    >>> from ensemblage.evaluation import purity_score
    >>> purity_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    check_consistent_length(labels_true, labels_pred)
    counts = contingency_matrix(labels_true, labels_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def nmi_score(labels_true: Any, labels_pred: Any) -> float:
    r"""Normalised mutual information, :math:`I / \sqrt{H(X) H(Y)}` (Inner Ensembles, eq. 1).

    scikit-learn's own default divides by the arithmetic mean of the entropies.
    """
    return float(normalized_mutual_info_score(labels_true, labels_pred, average_method="geometric"))
