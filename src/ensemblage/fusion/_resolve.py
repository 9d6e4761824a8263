"""Resolve the parameter ``fusion``."""

from __future__ import annotations

from typing import Any

from ensemblage.fusion._base import Fusion
from ensemblage.fusion._gates import AffinityGate, LocalCompetence
from ensemblage.fusion._log_linear import LogLinearPool
from ensemblage.fusion._rules import Mean, Product, Vote
from ensemblage.fusion._stacking import Stacking

FUSIONS: dict[str, type[Fusion]] = {
    "gate": AffinityGate,
    "local": LocalCompetence,
    "log_linear": LogLinearPool,
    "mean": Mean,
    "product": Product,
    "stacking": Stacking,
    "vote": Vote,
}

CONTEXT_FIELDS = {
    "affinity": "the rows' affinity to strata",
    "X": "the rows as numeric features",
    "sources": "the rows' sources",
    "strata": "the rows' strata",
}


def resolve_fusion(
    fusion: Any,
    *,
    offered: frozenset[str],
    final_estimator: Any = None,
    member_weights: Any = None,
    numeric: bool = False,
) -> Fusion:
    """Resolve the fusion; raise ValueError if the ensemble does not support it.

    ``offered`` are the fields of :class:`FusionContext` that the ensemble provides. The final
    estimator is for "stacking", the weights are for "product"; variances of "log_linear" are
    estimated by stratum if strata are offered and the target is numeric.
    """
    resolved: Fusion = fusion
    if isinstance(fusion, str):
        known = [name for name, each in FUSIONS.items() if not (numeric and each.classes_only)]
        if fusion not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"fusion={fusion!r} is unknown; use one of {names}, or a Fusion.")
        params: dict[str, Any] = {
            "stacking": {"final_estimator": final_estimator},
            "product": {"weights": member_weights},
            "log_linear": {"by_stratum": numeric and "strata" in offered},
        }.get(fusion, {})
        resolved = FUSIONS[fusion](**params)
    missing = sorted(getattr(resolved, "needs", frozenset()) - offered)
    if missing:
        needed = " and ".join(CONTEXT_FIELDS.get(name, name) for name in missing)
        raise ValueError(
            f"fusion={fusion!r} needs {needed}, which this ensemble does not provide. Use another "
            "fusion, such as 'mean' or 'stacking'."
        )
    return resolved
