"""Names of features beside what is drawn of them."""

from __future__ import annotations

from collections.abc import Sequence


def feature_labels(feature_names: Sequence[str] | None, n_features: int) -> list[str]:
    """Check the names, one per feature; without any, features are numbered from 0."""
    if feature_names is None:
        return [str(d) for d in range(n_features)]
    if len(feature_names) != n_features:
        raise ValueError(
            f"feature_names has {len(feature_names)} entries for {n_features} features; give one "
            "name per feature."
        )
    return list(feature_names)
