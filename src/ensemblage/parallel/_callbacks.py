"""Callbacks of scikit-learn behind one door: new in 1.9, experimental, and may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:
    Method = TypeVar("Method", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand in for scikit-learn's class: there are no callbacks to set."""

    def with_callbacks(method: Method) -> Method:
        """Leave a method as it is, one frame deeper: so warnings point to the caller."""

        @wraps(method)
        def plain_method(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return plain_method  # type: ignore[return-value]


__all__ = ["CallbackSupportMixin", "fit_progress", "with_callbacks"]


@contextmanager
def fit_progress(
    estimator: CallbackSupportMixin, task: str, max_steps: int | None
) -> Iterator[Callable[[], bool]]:
    """Tell the callbacks of an estimator being fitted, under ``with_callbacks``, about its steps.

    Yields what to call after each step; it is true if a callback asks to stop. ``task`` is what one
    step is called, and ``max_steps`` an upper bound on their number, None if not known.
    """
    if not hasattr(estimator, "set_callbacks"):
        yield lambda: False
        return
    context = estimator._init_callback_context(max_subtasks=max_steps)  # noqa: SLF001
    context.call_on_fit_task_begin(estimator=estimator)

    def step() -> bool:
        inner = context.subcontext(task_name=task)
        inner.call_on_fit_task_begin(estimator=estimator)
        return bool(inner.call_on_fit_task_end(estimator=estimator))

    yield step
    context.call_on_fit_task_end(estimator=estimator)
