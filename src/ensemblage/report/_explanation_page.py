"""The page of ``ensemblage explain``, whatever the kind of model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ensemblage.datasets import DataCard
from ensemblage.explain import Explanation
from ensemblage.messages import MEASURES
from ensemblage.pages import FactsBlock, Page, Section, TextBlock
from ensemblage.report._data_section import data_section


class Training(msgspec.Struct, frozen=True):
    """What may have been noted when a model was saved."""

    dataset: str | None = None
    n_rows: int | None = None
    accuracy: float | None = None
    accuracy_se: float | None = None
    rmse: float | None = None
    rmse_se: float | None = None
    learned: list[str] = []
    data: DataCard | None = None


def explanation_page(
    explained: Explanation, *, name: str, details: Mapping[str, Any] | None = None
) -> Page:
    """Tell what a model is made of.

    Parameters
    ----------
    explained : Explanation
        What :func:`ensemblage.explain.explain_model` gives.
    name : str
        Of the model.
    details : mapping, default=None
        What was noted when it was saved: ``dataset``, ``n_rows``, ``accuracy`` or ``rmse`` with
        their standard errors ``accuracy_se`` and ``rmse_se``, ``learned`` and ``data``.

    Returns
    -------
    Page
        To be rendered.
    """
    training = msgspec.convert(dict(details or {}), Training)
    shown = explained.page()
    noted = [] if shown.complete else _learned(training)
    sections = [*shown.sections, *noted, *data_section(training.data)]
    return Page(
        f"What {name} learned", "explanation", [*shown.summary, *_score(training)],
        FactsBlock([*shown.facts, *_trained_on(training)]), sections,
    )  # fmt: skip


def _trained_on(training: Training) -> list[tuple[str, str]]:
    facts = [] if training.dataset is None else [("trained on", training.dataset)]
    return facts if training.n_rows is None else [*facts, ("rows", f"{training.n_rows:,}")]


def _score(training: Training) -> list[str]:
    noted = {
        "accuracy": (training.accuracy, training.accuracy_se),
        "rmse": (training.rmse, training.rmse_se),
    }
    return [
        f"When it was trained, its cross-validated {MEASURES[name].label} was "
        f"{MEASURES[name].with_error(value, error, 4)}."
        for name, (value, error) in noted.items()
        if value is not None
    ]


def _learned(training: Training) -> list[Section]:
    lines = [f"{line[:1].upper()}{line[1:]}." for line in training.learned]
    return [Section("Noted in training", [TextBlock(lines)])] if lines else []
