"""The input and the result of an explanation, for every kind of model."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ensemblage._core import TableBlock, final_step, rows_at_final_step, set_module
from ensemblage.datasets import feature_categories, is_frame, read_columns
from ensemblage.report._blocks import Section, terminal_parts
from ensemblage.report._contributions import Contribution, value_text


@dataclass(frozen=True)
class ModelContext:
    """A fitted model, the columns of its table, and rows to explain with their target.

    ``details`` were noted when the model was saved; ``sources`` are the rows' sources.
    """

    model: Any
    columns: Sequence[str] = ()
    X: Any = None
    y: Any = None
    row: int | None = None
    kinds: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    sources: Any = None

    @property
    def estimator(self) -> Any:
        """The last step."""
        return final_step(self.model)

    @property
    def row_index(self) -> int:
        """The row that is explained, where there is one."""
        return self.row or 0

    @property
    def one_row(self) -> Any:
        """The explained row."""
        return self.X[self.row_index : self.row_index + 1]

    @property
    def encoded_row(self) -> Any:
        """The explained row as it reaches the last step."""
        return rows_at_final_step(self.model, self.one_row)

    def values(self) -> list[Any]:
        """Fields of the explained row, dates as days."""
        if not is_frame(self.X):
            return list(self.X[self.row_index])
        return [column.field(0) for column in read_columns(self.one_row, self.columns)]

    def contributions(
        self, amounts: NDArray[np.float64], errors: NDArray[np.float64] | None = None
    ) -> list[Contribution]:
        """List the contribution of each column, the largest first, with its standard error."""
        values = self.values()
        return [
            Contribution(
                self.columns[j],
                value_text(values[j], self.kinds[j] if self.kinds else ""),
                float(amounts[j]),
                None if errors is None else float(errors[j]),
            )
            for j in np.argsort(-np.abs(amounts), kind="stable")
        ]


@set_module("ensemblage.report")
@dataclass(frozen=True, repr=False)
class Explanation:
    """What a fitted model consists of, and how it predicts a row if one was given.

    Made by :func:`explain_model`; :func:`render` writes it as a page.

    Parameters
    ----------
    document : msgspec.Struct
        What ``ensemblage explain --json`` prints: of the model, or of the row.
    sentences : sequence of str
        A summary of the model, the most important sentence first.
    facts : mapping of str to str
        Key figures such as the number of members.
    sections : sequence of Section
        Tables and figures of the model.
    display : callable or str
        Draws the model with matplotlib and gives the figure; or why that cannot be done.
    row_sections : sequence of Section
        Tables and figures of the row.
    """

    document: Any
    sentences: Sequence[str]
    facts: Mapping[str, str]
    sections: Sequence[Section]
    display: Callable[[], Any] | str
    row_sections: Sequence[Section] = ()

    def text(self) -> list[str | TableBlock]:
        """Lines and tables for a terminal.

        Returns
        -------
        list of str or TableBlock
            Of the row if one was given, else of the model.
        """
        if self.row_sections:
            return terminal_parts(self.row_sections)
        return [*self.sentences, *terminal_parts(self.sections)]

    def draw(self, picture: str = "png") -> bytes:
        """Draw the model; needs matplotlib.

        Parameters
        ----------
        picture : {"png", "svg", "pdf"}, default="png"
            Format of the picture.

        Returns
        -------
        bytes
            The file.

        Raises
        ------
        ValueError
            If this kind of model has no drawing, or the drawing needs rows.
        """
        if isinstance(self.display, str):
            raise ValueError(self.display)  # noqa: TRY004  the model is the wrong one
        buffer = io.BytesIO()
        self.display().savefig(buffer, format=picture, dpi=150, bbox_inches="tight")
        return buffer.getvalue()


def range_text(counts: NDArray[Any]) -> str:
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
    """Find the category behind each 0/1 feature at the last step, or None.

    A step behind the encoder may scale them; then the list is empty.
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
