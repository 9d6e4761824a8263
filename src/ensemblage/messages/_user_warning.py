"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

PASSED_OVER = {"ensemblage", "sklearn", "joblib"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this library, however deep inside of it the cause is."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001  as warnings does itself
    while frame.f_back is not None and _package(frame.f_globals) in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(variables: dict[str, object]) -> str:
    return str(variables.get("__name__", "")).partition(".")[0]
