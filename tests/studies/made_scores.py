"""Scores of methods, made up."""

import numpy as np
from scipy.stats import rankdata

from ensemblage.studies import MethodScores


def made_scores(**accuracies):
    """Of methods by name; a fold of None failed, and there are no probabilities."""
    known = np.array([[-1 if x is None else x for x in row] for row in accuracies.values()])
    ranks = rankdata(-known, axis=0)
    return tuple(
        MethodScores(
            name=name, label=name, ours=False, complexity=1, accuracy=row, balanced_accuracy=row,
            log_loss=(None,) * len(row), auc=row, f1=row, seconds=(1.0,) * len(row),
            ranks=tuple(own.tolist()),
            failures={i: "out of luck" for i, x in enumerate(row) if x is None}, warnings={},
        )
        for (name, row), own in zip(accuracies.items(), ranks, strict=True)
    )  # fmt: skip
