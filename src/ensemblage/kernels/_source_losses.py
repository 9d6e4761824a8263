"""Loss of one softmax classifier per source, and its slopes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Doubles = NDArray[np.float64]


class SourceRows(NamedTuple):
    """Rows sorted by source: those of source s are ``starts[s]`` to ``starts[s + 1]``.

    ``rows``, of shape (n_rows, n_features + 1), has a one behind the columns, for the intercept.
    """

    rows: Doubles
    labels: NDArray[np.int64]
    weights: Doubles
    starts: NDArray[np.int64]

    @property
    def n_sources(self) -> int:
        """Number of sources, those without rows included."""
        return len(self.starts) - 1


# sums may be taken in any order, so that a row's product with the coefficients is a few wide steps
@compiled(fastmath={"reassoc", "nsz", "contract"})
def add_source_losses(data: SourceRows, coefs: Doubles, slopes: Doubles) -> float:
    r"""Add up :math:`-w_m \log p(y_m \mid x_m)`, each row under its own source's coefficients.

    ``coefs`` and ``slopes`` have shape (n_sources, n_logits, n_features + 1); slopes are added to
    what is there. With one logit it is that of class 1 against class 0, otherwise there is one
    for each class.
    """
    n_logits, width = coefs.shape[1], coefs.shape[2]
    z = np.empty(n_logits)
    total = 0.0
    for s in range(len(data.starts) - 1):
        for m in range(data.starts[s], data.starts[s + 1]):
            label, weight = data.labels[m], data.weights[m]
            for k in range(n_logits):
                dot = 0.0
                for j in range(width):
                    dot += coefs[s, k, j] * data.rows[m, j]
                z[k] = dot
            top = max(z.max(), 0.0) if n_logits == 1 else z.max()
            # class 0 of two has the logit 0
            sum_exp = np.exp(-top) if n_logits == 1 else 0.0
            true = z[label] if n_logits > 1 else z[0] * label
            for k in range(n_logits):
                z[k] = np.exp(z[k] - top)
                sum_exp += z[k]
            total += weight * (np.log(sum_exp) + top - true)
            for k in range(n_logits):
                hit = label == k if n_logits > 1 else label == 1
                gap = weight * (z[k] / sum_exp - (1.0 if hit else 0.0))
                for j in range(width):
                    slopes[s, k, j] += gap * data.rows[m, j]
    return total
