"""How predictions of new rows agree with a target that happens to be there."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ensemblage.messages import MEASURES, count
from ensemblage.methods._predictions import Predictions


class TargetScore:
    """Counts right classes, or sums squared errors of numbers, block by block."""

    def __init__(self) -> None:
        self._hits = self._classes = self._numbers = 0
        self._squares = 0.0

    def add(self, truth: NDArray[Any], predictions: Predictions) -> None:
        """Compare the next rows; those without a target do not count."""
        if predictions.classes:
            pairs = zip(truth.tolist(), predictions.labels.tolist(), strict=True)
            hits = [a == b for a, b in pairs if a is not None]
            self._hits += sum(hits)
            self._classes += len(hits)
        elif truth.dtype.kind == "f":
            missed = (truth - predictions.labels)[truth == truth]  # noqa: PLR0124  not NaN
            self._squares += float((missed**2).sum())
            self._numbers += len(missed)

    def words(self) -> str:
        """Say how well they agree, to end a sentence; nothing if there is nothing to say."""
        if self._classes:
            return f"; {self._hits} of {self._classes} predictions agree with it"
        if not self._numbers:
            return ""
        rmse = MEASURES["rmse"].written((self._squares / self._numbers) ** 0.5)
        return f"; against its {count(self._numbers, 'number')} predictions have an RMSE of {rmse}"
