"""A way to learn a model, under a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV

from ensemblage.methods._inner_folds import InnerFolds

INNER_FOLDS = 3


@dataclass(frozen=True)
class Method:
    """A way to learn a model, under a name.

    Parameters
    ----------
    name : str
        What to ask for.
    label : str
        What tables call it.
    description : str
        One line.
    factory : callable
        ``factory(seed, n_jobs)`` makes the unfitted estimator.
    ours : bool, default=False
        Whether it is one of this library's own methods.
    takes_tables : bool, default=False
        Whether it reads words and missing values itself, without preprocessing.
    takes : tuple of {"sources", "groups"}, default=()
        What its ``fit`` takes beside rows and target. One that takes sources answers rows by
        their source too, where it is known.
    needs_sources : bool, default=False
        Whether it cannot do without them.
    effort : int, default=3
        How much there is to fit and to read: 0 nothing, 1 one small model, 2 many trees, 3 a
        search for parameters or an ensemble of models. Of methods that are about as good, the
        one of least effort is chosen.
    steep : bool, default=False
        Whether its time grows faster than the rows.
    quick : mapping or None, default={}
        Parameters that save time in a quick comparison, mostly by less tuning; with None the
        method is only in such a one if it is asked for.
    most_columns : int, default=None
        With more columns it is only run if it is asked for: its time grows with their square.
    encodes : bool, default=False
        Whether it takes tables through an encoder of its own, which is told the kinds of columns.
    judges_itself : bool, default=False
        Whether a fit tells by itself what the method says of rows that it has not seen.
    takes_blocks : bool, default=False
        Whether it can be fitted to rows that are read in blocks.
    """

    name: str
    label: str
    description: str
    factory: Callable[[int, int | None], Any]
    ours: bool = False
    takes_tables: bool = False
    takes: tuple[str, ...] = ()
    needs_sources: bool = False
    effort: int = 3
    steep: bool = False
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    most_columns: int | None = None
    encodes: bool = False
    judges_itself: bool = False
    takes_blocks: bool = False

    def fit_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Name what a pipeline's ``fit`` passes on to the method.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or None
            Where the rows to fit on come from.
        new_sources : bool
            Whether predictions are for sources never seen in training.

        Returns
        -------
        dict
            Parameters of ``fit``.
        """
        if self.needs_sources and sources is None:
            raise ValueError(
                f"The method {self.name!r} needs to know where rows come from: name the column by "
                "`source_column`."
            )
        if sources is None:
            return {}
        known = self.needs_sources or not new_sources
        wanted = {"groups": new_sources, "sources": known}
        return {f"model__{name}": sources for name in self.takes if wanted[name]}

    def predict_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Name what a prediction is told beside the rows.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or None
            Where the rows to predict come from.
        new_sources : bool
            Whether these are sources never seen in training.

        Returns
        -------
        dict
            Parameters of ``predict`` and ``predict_proba``.
        """
        told = sources is not None and "sources" in self.takes and not new_sources
        return {"sources": sources} if told and sources is not None else {}


def tuned(estimator: Any, grid: dict[str, list[Any]], seed: int, n_jobs: int | None) -> Any:
    """Let inner folds choose parameters of an estimator."""
    return GridSearchCV(estimator, grid, cv=InnerFolds(INNER_FOLDS, seed), n_jobs=n_jobs)
