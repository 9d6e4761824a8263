"""Wrappers of ``fit``: restored state after an error, BLAS threads, callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from ensemblage._core._parallel import limit_blas_threads

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for scikit-learn's class in versions without callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Wrap a method in one frame, as scikit-learn does; warnings then point to the caller."""

        @wraps(method)
        def plain_method(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return plain_method  # type: ignore[return-value]


__all__ = ["CallbackSupportMixin", "fit_progress", "with_callbacks"]


@contextmanager
def fit_progress(
    estimator: CallbackSupportMixin, task: str, max_steps: int | None
) -> Iterator[Callable[[], bool]]:
    """Report steps of a fit under ``with_callbacks`` to the estimator's callbacks.

    Yields a function to call after each step, which returns True if a callback requests to stop.
    ``task`` is the name of a step, and ``max_steps`` an upper bound of their number or None.
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


def guarded_fit(fit: Method) -> Method:
    """Restore the estimator if ``fit`` fails, and limit BLAS to one thread for small tables.

    If ``fit`` fails or is interrupted, all attributes are restored: an estimator that was fitted
    before remains fitted. ``fit`` must not write into existing arrays.
    """

    @wraps(fit)
    def wrapped(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            with limit_blas_threads(args[0] if args else kwargs.get("X")):
                return fit(estimator, *args, **kwargs)
        except BaseException:
            state = vars(estimator)
            state.clear()
            state.update(before)
            raise

    return wrapped  # type: ignore[return-value]
