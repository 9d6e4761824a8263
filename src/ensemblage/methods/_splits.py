"""How a study splits rows, the same for every method."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.model_selection import StratifiedShuffleSplit

from ensemblage.datasets import Dataset
from ensemblage.parallel import Fold, draw_seeds, make_folds
from ensemblage.runs import DEFAULT_FOLDS


class Splits(NamedTuple):
    """Repeats of stratified folds, or of a share drawn for testing where that is given.

    With ``new_sources`` each source is in one fold only; ``quick`` leaves rows out of large folds.
    """

    seed: int = 0
    repeats: int = 1
    folds: int | None = DEFAULT_FOLDS
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False

    @property
    def share(self) -> float:
        """Share of the rows that a split tests."""
        return 1 / self.folds if self.folds else float(self.test_share or 0)

    def places(self) -> list[tuple[int, int]]:
        """Repeat and fold of each split, first repeats first."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds or 1)]

    def rows(self, dataset: Dataset, repeat: int, fold: int) -> Fold:
        """Rows to train on and rows to test on."""
        y, seed = dataset.y, self._repeat_seed(repeat)
        if self.folds is None:
            share = StratifiedShuffleSplit(1, test_size=self.test_share, random_state=seed)
            return Fold(*next(share.split(y, y)))
        return make_folds(y, self.folds, seed, dataset.sources if self.new_sources else None)[fold]

    def fold_seed(self, repeat: int, fold: int) -> int:
        """For what is drawn from a fold's rows, the same for every method."""
        return draw_seeds(self._repeat_seed(repeat), fold + 1)[fold]

    def _repeat_seed(self, repeat: int) -> int:
        # the same whatever the number of repeats
        return draw_seeds(self.seed, repeat + 1)[repeat]
