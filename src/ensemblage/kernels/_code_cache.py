"""Where a kernel's machine code is kept for the next process, on whatever disk there is."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import Any

logger = logging.getLogger("ensemblage")


def keep_machine_code(dispatcher: Any) -> None:
    """Let a compiled function keep its machine code, if this machine has a folder for it.

    Containers and clusters often have none that can be written: each process compiles for itself.
    """
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT leaves the function as it is
        return
    try:
        dispatcher._cache = _mending_cache()(dispatcher.py_func)  # noqa: SLF001 (no other way in)
    except (RuntimeError, OSError):
        _say_that_nothing_is_kept()


@functools.cache
def _say_that_nothing_is_kept() -> None:
    logger.info(
        "Compiled kernels cannot be kept: neither the package's folder nor the user's cache can be "
        "written, so each process compiles its own. Set NUMBA_CACHE_DIR to a folder that can."
    )


@functools.cache
def _mending_cache() -> type:
    """Make Numba's cache of a function, for which damage is no reason to fail."""
    from numba.core import caching  # noqa: PLC0415

    function_cache: Any = caching.FunctionCache

    class MendingCache(function_cache):
        """Files that cannot be read are as good as absent; a full disk keeps nothing."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # unpickling what is damaged may raise anything
                logger.info("A damaged cache of kernels is discarded: %s", self.cache_path)
                with contextlib.suppress(OSError):
                    self.flush()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except Exception:  # as above: saving reads the old index first
                logger.info("A compiled kernel could not be kept in %s", self.cache_path)

    return MendingCache
