"""A gate on the rows themselves: a softmax that tells how much to trust each member."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.messages import expect_fitted


class SoftmaxGate(Fusion):
    r"""Members weighted by a softmax of the row; needs the rows themselves.

    Its coefficients are learned together with the members, so it is made with them and learns
    nothing of its own.

    Parameters
    ----------
    coef : ndarray of shape (n_members, n_features)
        Coefficients :math:`v_k` of the gate.
    intercept : ndarray of shape (n_members,)
        Intercepts :math:`c_k` of the gate.

    See Also
    --------
    Gate : Where strata tell whom to listen to.

    Notes
    -----
    .. math:: p(c \mid x) = \sum_k g_k(x)\, p_k(c \mid x), \quad
        g(x) = \mathrm{softmax}_k(v_k \cdot x + c_k) .

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import FusionContext, SoftmaxGate
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate = SoftmaxGate(coef=np.array([[1.0], [-1.0]]), intercept=np.zeros(2))
    >>> gate.combine(outputs, FusionContext(X=np.array([[0.0]])))
    array([[0.6, 0.4]])
    """

    needs = frozenset({"X"})

    def __init__(self, coef: Any, intercept: Any) -> None:
        self.coef = coef
        self.intercept = intercept

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        fused = np.einsum("sk,ksc->sc", self.row_weights(outputs, context), np.asarray(outputs))
        return np.asarray(fused / fused.sum(axis=1, keepdims=True))

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        gate = np.asarray(context.X) @ np.asarray(self.coef).T + self.intercept
        return np.asarray(softmax(gate.astype(float), axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def __check_state__(self) -> None:
        """Refuse coefficients that do not belong together."""
        rules = {"coef": "float (members, columns)", "intercept": "float (members)"}
        expect_fitted(self, rules)
