"""From what a user asks for to a fusion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensemblage.fusion._affinity_gate import Gate
from ensemblage.fusion._base import Fusion
from ensemblage.fusion._fixed_rules import Mean, Vote
from ensemblage.fusion._local_competence import LocalCompetence
from ensemblage.fusion._log_pool import LogPool
from ensemblage.fusion._product import Product
from ensemblage.fusion._stacking import Stacking

BY_NAME: dict[str, Callable[[], Fusion]] = {
    "gate": Gate,
    "local": LocalCompetence,
    "logpool": LogPool,
    "mean": Mean,
    "product": Product,
    "stacking": Stacking,
    "vote": Vote,
}

MEANING = {
    "affinity": "the rows' affinity to strata",
    "X": "the rows as numbers",
    "sources": "the rows' sources",
}
"""Of the fields of a context."""


def resolve_fusion(
    fusion: Any,
    *,
    offered: frozenset[str],
    final_estimator: Any = None,
    importance: Any = None,
) -> Fusion:
    """Give the fusion that a parameter names, or refuse one whose needs cannot be met.

    Parameters
    ----------
    fusion : {"gate", "local", "logpool", "mean", "product", "stacking", "vote"} or Fusion
        As given by the user; a fusion is given back as it is.
    offered : frozenset of str
        Fields of :class:`FusionContext` that the ensemble can fill.
    final_estimator : classifier, default=None
        Of ``"stacking"``.
    importance : array-like of shape (n_members,), default=None
        Weights of ``"product"``.

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
        if fusion not in BY_NAME:
            known = ", ".join(map(repr, BY_NAME))
            raise ValueError(f"fusion={fusion!r} is not known; use one of {known}, or a Fusion.")
        resolved = BY_NAME[fusion]()
        if isinstance(resolved, Stacking):
            resolved = Stacking(final_estimator)
        elif isinstance(resolved, Product):
            resolved = Product(importance)
    else:
        resolved = fusion
    missing = sorted(getattr(resolved, "needs", frozenset()) - offered)
    if missing:
        raise ValueError(
            f"fusion={fusion!r} needs {' and '.join(MEANING.get(name, name) for name in missing)}, "
            f"which this ensemble cannot give it. Use another fusion, such as 'mean' or 'stacking'."
        )
    return resolved
