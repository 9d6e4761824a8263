"""A fit that ends early leaves the estimator as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def all_or_nothing(fit: F) -> F:
    """Undo what a ``fit`` has set if it fails or is interrupted, so that no model is half new.

    An estimator that was fitted before still is; ``fit`` must not write into its old arrays.
    """

    @functools.wraps(fit)
    def wrapped(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            return fit(estimator, *args, **kwargs)
        except BaseException:
            state = vars(estimator)
            state.clear()
            state.update(before)
            raise

    return wrapped  # type: ignore[return-value]
