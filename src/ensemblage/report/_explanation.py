"""What the description of every kind of model has: facts, sentences, sections."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ensemblage._core import TableBlock, set_module
from ensemblage.datasets import feature_categories, is_frame, read_columns
from ensemblage.report._blocks import Section


class Subject(NamedTuple):
    """A model to explain, the columns of its file, and rows to look at with their classes.

    ``details`` are what was noted when the model was saved, ``sources`` where the rows come from.
    """

    model: Any
    columns: Sequence[str] = ()
    X: Any = None
    y: Any = None
    row: int | None = None
    kinds: Sequence[str] = ()
    details: Mapping[str, Any] = MappingProxyType({})
    sources: Any = None

    def values(self, row: int) -> list[Any]:
        """Give one row's fields, dates as days, whether the rows are a frame or an array."""
        if not is_frame(self.X):
            return list(self.X[row])
        return [column.field(0) for column in read_columns(self.X[row : row + 1], self.columns)]


class ModelPage(NamedTuple):
    """What a page shows of a model; ``complete`` if that says all that was noted in training."""

    summary: list[str]
    facts: list[tuple[str, str]]
    sections: list[Section]
    complete: bool = False


@set_module("ensemblage.report")
class Explanation(ABC):
    """What a fitted model is made of.

    Each kind of model has a subclass of its own; :func:`explain_model` finds it.

    Attributes
    ----------
    facts : object
        What was learned, as a value of the kind's own type.
    """

    has: ClassVar[str]
    """What such a model has, in words: "strata"."""
    documents: ClassVar[tuple[type[msgspec.Struct], ...]]
    """What its document can be."""
    draws_rows: ClassVar[bool] = False
    """Whether its drawing shows rows, and needs some."""
    facts: Any

    @classmethod
    @abstractmethod
    def explains(cls, estimator: Any) -> bool:
        """Tell whether an estimator is of this kind.

        Parameters
        ----------
        estimator : estimator
            Fitted; the last step of a pipeline.

        Returns
        -------
        bool
            True for one kind at most.
        """

    @classmethod
    @abstractmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Say what was learned, to note it after a fit.

        Parameters
        ----------
        estimator : estimator
            Of this kind.
        columns : sequence of str
            Names of the table's columns; empty if they are not known.

        Yields
        ------
        str
            A line each.
        """

    @classmethod
    @abstractmethod
    def of(cls, subject: Subject) -> Explanation:
        """Look into a model.

        Parameters
        ----------
        subject : Subject
            The model, of this kind, and what to look at.

        Returns
        -------
        Explanation
            Of this kind.
        """

    @property
    @abstractmethod
    def document(self) -> msgspec.Struct:  # numpydoc ignore=RT01
        """What ``ensemblage explain --json`` prints."""

    @abstractmethod
    def text(self) -> list[str | TableBlock]:
        """Write it for a terminal.

        Returns
        -------
        list of str or TableBlock
            Lines and tables, to be printed below each other.
        """

    @abstractmethod
    def page(self) -> ModelPage:
        """Describe it for a page.

        Returns
        -------
        ModelPage
            Sentences, facts, and sections of plain blocks.
        """

    @abstractmethod
    def draw(self, picture: str = "png") -> bytes:
        """Draw it; needs matplotlib.

        Parameters
        ----------
        picture : {"png", "svg", "pdf"}, default="png"
            Format of the picture.

        Returns
        -------
        bytes
            The file.
        """


def saved_picture(display: Any, picture: str, **options: Any) -> bytes:
    """Write what a Display has drawn."""
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format=picture, dpi=150, **options)
    return buffer.getvalue()


def spread(counts: NDArray[Any]) -> str:
    """Write ``3``, or ``3 to 5`` where counts differ."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def feature_names(model: Any, columns: Sequence[str]) -> list[str]:
    """Name the features at the last step after the table's columns."""
    names: Any = np.asarray(columns, dtype=object)
    for step in _steps_before(model):
        names = step.get_feature_names_out(names)
    return [str(name) for name in names]


def feature_origins(model: Any, columns: Sequence[str]) -> list[int] | None:
    """Give the column of each feature at the last step, by position; None if it is not known."""
    origins = np.arange(len(columns))
    for step in _steps_before(model):
        if hasattr(step, "feature_columns_"):
            origins = origins[step.feature_columns_]
        elif hasattr(step, "get_support"):
            origins = origins[step.get_support()]
        elif len(step.get_feature_names_out(origins.astype(object))) != len(origins):
            return None
    return [int(each) for each in origins]


def feature_categories_of(model: Any) -> list[str | None]:
    """Tell the category behind each feature of zeros and ones at the last step, or None.

    A step behind the encoder may scale them; then they are numbers, and the list is empty.
    """
    found: list[str | None] = []
    for step in _steps_before(model):
        if hasattr(step, "get_support"):
            found = [each for each, kept in zip(found, step.get_support(), strict=False) if kept]
        else:
            found = feature_categories(step)
    return found


def column_names(estimator: Any, columns: Sequence[str]) -> dict[str, str]:
    """Give the names of the table's columns by those that an estimator has for its own."""
    numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
    own = [str(name) for name in getattr(estimator, "feature_names_in_", numbered)]
    return dict(zip(own, columns, strict=True)) if len(own) == len(columns) else {}


def _steps_before(model: Any) -> Iterator[Any]:
    """Give all steps before the last, also of a pipeline that stands at a pipeline's end."""
    if isinstance(model, Pipeline):
        yield from (step for _, step in model.steps[:-1])
        yield from _steps_before(model[-1])
