"""A fusion from its name, with its needs checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensemblage.fusion._base import Fusion
from ensemblage.fusion._gates import DensityGate, Gate, LocalCompetence
from ensemblage.fusion._log_linear import DensityPool, LogPool
from ensemblage.fusion._rules import Mean, Product, Vote
from ensemblage.fusion._stacking import DensityMean, DensityStacking, Stacking

BY_NAME: dict[str, Callable[[], Fusion]] = {
    "gate": Gate,
    "local": LocalCompetence,
    "logpool": LogPool,
    "mean": Mean,
    "product": Product,
    "stacking": Stacking,
    "vote": Vote,
}

OF_NUMBERS: dict[str, Callable[[], Fusion]] = {
    "gate": DensityGate,
    "logpool": DensityPool,
    "mean": DensityMean,
    "stacking": DensityStacking,
}
"""Of members that predict numbers."""

MEANING = {
    "affinity": "the rows' affinity to strata",
    "X": "the rows as numbers",
    "sources": "the rows' sources",
    "strata": "the rows' strata",
}
"""Of the fields of a context."""


def resolve_fusion(
    fusion: Any,
    *,
    offered: frozenset[str],
    final_estimator: Any = None,
    importance: Any = None,
    numbers: bool = False,
) -> Fusion:
    """Give the fusion that a parameter names, or refuse one whose needs cannot be met.

    Parameters
    ----------
    fusion : {"gate", "local", "logpool", "mean", "product", "stacking", "vote"} or Fusion
        As given by the user; a fusion is given back as it is.
    offered : frozenset of str
        Fields of :class:`FusionContext` that the ensemble can fill.
    final_estimator : classifier or regressor, default=None
        Of ``"stacking"``.
    importance : array-like of shape (n_members,), default=None
        Weights of ``"product"``.
    numbers : bool, default=False
        Whether members predict numbers; of these there are "gate", "logpool", "mean" and
        "stacking", and strata are told to "logpool" where they are offered.

    Returns
    -------
    Fusion
        Not fitted.

    Examples
    --------
    >>> from ensemblage.fusion import resolve_fusion
    >>> resolve_fusion("mean", offered=frozenset())
    Mean()
    """
    if isinstance(fusion, str):
        named = OF_NUMBERS if numbers else BY_NAME
        if fusion not in named:
            known = ", ".join(map(repr, named))
            raise ValueError(f"fusion={fusion!r} is not known; use one of {known}, or a Fusion.")
        resolved = named[fusion]()
        if isinstance(resolved, Stacking | DensityStacking):
            resolved = type(resolved)(final_estimator)
        elif isinstance(resolved, Product):
            resolved = Product(importance)
        elif isinstance(resolved, DensityPool):
            resolved = DensityPool(by_stratum="strata" in offered)
    else:
        resolved = fusion
    missing = sorted(getattr(resolved, "needs", frozenset()) - offered)
    if missing:
        raise ValueError(
            f"fusion={fusion!r} needs {' and '.join(MEANING.get(name, name) for name in missing)}, "
            f"which this ensemble cannot give it. Use another fusion, such as 'mean' or 'stacking'."
        )
    return resolved
