"""What every kind of explanation gives, whatever the model."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import msgspec
from numpy.typing import NDArray

from ensemblage.pages import Section, TableBlock
from ensemblage.tables import is_frame, read_columns


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
