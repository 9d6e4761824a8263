"""Smoothed means of a target by category, of which a row's own value is no part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import TargetEncoder

from ensemblage.parallel import Fold


def means_of_other_folds(
    encoder: TargetEncoder, codes: NDArray[np.int32], y: NDArray[Any], folds: Sequence[Fold]
) -> NDArray[np.float64]:
    """Give each row the means that a fitted encoder would have learnt from the other folds.

    This is what scikit-learn's ``fit_transform`` gives, which takes folds from 1.9 on only.
    """
    classes = encoder.classes_
    shares = [] if classes is None else [(y == each).astype(np.int64) for each in classes]
    targets = shares if len(shares) > 2 else shares[-1:] or [y]
    means = np.empty((*codes.shape, len(targets)))
    of_fold = TargetEncoder(categories=encoder.categories_, target_type="continuous")
    for train, test in folds:
        for target, place in zip(targets, np.moveaxis(means, 2, 0), strict=True):
            place[test] = of_fold.fit(codes[train], target[train]).transform(codes[test])
    return means.reshape(len(codes), -1)
