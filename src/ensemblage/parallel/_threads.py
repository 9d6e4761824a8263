"""One thread of linear algebra where several would only wait for each other.

OpenBLAS wakes its threads for matrices of ten columns too. Where other work, or a container's share
of the processors, keeps them from running at once, each call then waits for a time slice: small
logistic regressions took 30 to 80 times as long.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

FEW_NUMBERS = 2**18
"""Rows times columns: from here on threads can gain something."""


def threads_for(X: Any) -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread for a small table; what has no known shape is none."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    known = len(shape) == 2 and all(isinstance(each, int) for each in shape)
    few = known and shape[0] * shape[1] < FEW_NUMBERS
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1) if few else nullcontext()
    return limit


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401, PLC0415  its own copy of BLAS must be there to be found
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController().select(user_api="blas")
