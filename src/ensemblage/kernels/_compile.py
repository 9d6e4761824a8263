"""Numba at the first call, never at import."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("ensemblage")


class CompiledKernel(Generic[P, R]):
    """A function that Numba compiles when it is first called.

    Importing Numba takes a third of a second, and many users never reach a compiled kernel.
    The machine code is cached beside the source
    file, so only the first call on a new machine waits for the compiler.

    Parameters
    ----------
    function : callable
        Plain Python over arrays and scalars, in the subset that Numba compiles. It must not
        call another ``CompiledKernel``.
    fastmath : bool or set of str
        What LLVM may assume about floating point; see Numba's ``fastmath``.

    Attributes
    ----------
    python : callable
        The function as written, for tests that follow it line by line.
    """

    def __init__(self, function: Callable[P, R], fastmath: bool | set[str] = False) -> None:
        functools.update_wrapper(self, function)
        self.python = function
        self._fastmath = fastmath
        self._compiled: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled(*args, **kwargs)

    def _compile(self) -> Callable[P, R]:
        import numba  # noqa: PLC0415

        logger.info("Preparing kernel %s; a new machine compiles it once.", self.python.__name__)
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, fastmath=self._fastmath)(
            self.python
        )
        return compiled

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name, as a plain function would be."""
        return self.python.__qualname__


def compiled(function: Callable[P, R] | None = None, *, fastmath: bool | set[str] = False) -> Any:
    """Compile the decorated kernel with Numba at its first call.

    Parameters
    ----------
    function : callable
        The kernel.
    fastmath : bool or set of str
        What LLVM may assume about floating point.

    Returns
    -------
    CompiledKernel
    """
    if function is None:
        return functools.partial(CompiledKernel, fastmath=fastmath)
    return CompiledKernel(function, fastmath=fastmath)
