"""What every ``fit`` is wrapped in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ensemblage.parallel._threads import threads_for

F = TypeVar("F", bound=Callable[..., Any])


def guarded_fit(fit: F) -> F:
    """Make a ``fit`` all or nothing, and let it use one thread for a small table.

    What a fit has set is undone if it fails or is interrupted, so that no model is half new: an
    estimator that was fitted before still is. ``fit`` must not write into its old arrays.
    """

    @functools.wraps(fit)
    def wrapped(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            with threads_for(args[0] if args else kwargs.get("X")):
                return fit(estimator, *args, **kwargs)
        except BaseException:
            state = vars(estimator)
            state.clear()
            state.update(before)
            raise

    return wrapped  # type: ignore[return-value]
