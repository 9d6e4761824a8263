"""What surrounds every fit: all or nothing, one BLAS thread on small tables, callbacks."""

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


def guarded_fit(fit: Method) -> Method:
    """Make a ``fit`` all or nothing, and let it use one thread for a small table.

    What a fit has set is undone if it fails or is interrupted, so that no model is half new: an
    estimator that was fitted before still is. ``fit`` must not write into its old arrays.
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
