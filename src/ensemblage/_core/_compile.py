"""Compilation by Numba at the first call, with a cache of machine code."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from numbers import Number
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

logger = logging.getLogger("ensemblage")


def keep_machine_code(dispatcher: Any) -> None:
    """Cache the machine code of a compiled function, if a cache folder is writable.

    In containers and on clusters it often is not: each process then compiles for itself. A damaged
    file is ignored, and nothing is cached on a full disk (decision 0016).
    """
    if not hasattr(dispatcher, "enable_caching"):  # with NUMBA_DISABLE_JIT
        return
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError):
        _log_that_nothing_is_kept()
        return
    cache = dispatcher._cache  # noqa: SLF001 (no public access)
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # unpickling a damaged file may raise anything
            logger.info("Discarding a damaged cache of compiled kernels: %s", cache.cache_path)
            with contextlib.suppress(OSError):
                cache.flush()
            return None

    def save_overload(*args: Any) -> None:
        try:
            save(*args)
        except Exception:  # as above: saving reads the old index first
            logger.info("A compiled kernel could not be cached in %s", cache.cache_path)

    cache.load_overload, cache.save_overload = load_overload, save_overload


@functools.cache
def _log_that_nothing_is_kept() -> None:
    logger.info(
        "Compiled kernels cannot be cached: neither the package folder nor the user's cache is "
        "writable, so each process compiles its own. Set NUMBA_CACHE_DIR to a writable folder."
    )


P = ParamSpec("P")
R = TypeVar("R")


class CompiledKernel(Generic[P, R]):
    """A function that Numba compiles at its first call.

    Importing Numba takes a third of a second, and many users never call a compiled kernel. The
    machine code is cached beside the source, so only the first call on a new machine compiles. A
    kernel may call other kernels, by a global name or from a closure.
    """

    def __init__(self, function: Callable[P, R], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._function: Any = function
        self._options = options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if "dispatcher" in self.__dict__:
                return self.dispatcher(*args, **kwargs)
            with _collector_paused():
                return self.dispatcher(*args, **kwargs)
        except SystemError as error:
            if _was_interrupted(error):
                raise KeyboardInterrupt from None
            raise

    @functools.cached_property
    def python(self) -> Callable[P, R]:
        """The kernel and all kernels that it calls as Python functions, for tests."""
        plain: Callable[P, R] = _calling(self._function, lambda kernel: kernel.python)
        return plain

    @functools.cached_property
    def dispatcher(self) -> Callable[P, R]:
        """Numba's function, callable from Python."""
        logger.info("Preparing kernel %s; compiled once per machine.", self._function.__name__)
        return self._compiled("")

    @functools.cached_property
    def callee(self) -> Callable[P, R]:
        """Numba's function, callable from other kernels only."""
        return self._compiled("_callee", no_cpython_wrapper=True)

    def _compiled(self, suffix: str, **options: Any) -> Callable[P, R]:
        """Compile with Numba, without wrappers that are not needed.

        Numba caches machine code by the function's qualified name and discards it if the function's
        file has changed. A digest in that name also discards it if a file has changed from which
        the function imports a kernel, a named tuple or a number.
        """
        import numba  # noqa: PLC0415

        function = _calling(self._function, lambda kernel: kernel.callee)
        function.__qualname__ += f"_{_imported_digest(self._function)}{suffix}"
        usual: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
        compiled: Callable[P, R] = numba.njit(**usual, **options, **self._options)(function)
        keep_machine_code(compiled)
        return compiled

    @property
    def cache_folder(self) -> str | None:
        """Folder of the cached machine code; None if it cannot be cached."""
        stats = getattr(self.dispatcher, "stats", None)
        folder: str | None = getattr(stats, "cache_path", None)
        return folder

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name, as a plain function would be."""
        name: str = self._function.__qualname__
        return name


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Do not look for garbage while Numba compiles: it makes many objects, and keeps them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C was pressed while machine code ran, which raises SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def compiled(function: Callable[P, R] | None = None, **options: Any) -> Any:
    """Compile the decorated kernel with Numba at its first call; options are those of ``njit``."""
    if function is None:
        return functools.partial(CompiledKernel, **options)
    return CompiledKernel(function, **options)


def _calling(function: Any, counterpart: Callable[[CompiledKernel[..., Any]], Any]) -> Any:
    """Copy a function, replacing the kernels that it calls by their counterparts."""

    def replaced(value: object) -> object:
        return counterpart(value) if isinstance(value, CompiledKernel) else value

    namespace = dict(function.__globals__)
    for name in set(_global_names(function.__code__)) & namespace.keys():
        namespace[name] = replaced(namespace[name])
    closure = tuple(CellType(replaced(cell.cell_contents)) for cell in function.__closure__ or ())
    copy = FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    return copy


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _imported_digest(function: Any) -> str:
    """Digest of the numeric constants in a function's module and of the modules that it compiles.

    These are the modules of its kernels and named tuples, recursively.
    """
    own = function.__globals__
    numbers = {name: value for name, value in own.items() if isinstance(value, Number)}
    sources = {function.__module__: repr(sorted(numbers.items()))}
    waiting = [own]
    while waiting:
        for value in waiting.pop().values():
            if _is_compiled_in(value) and value.__module__ not in sources:
                module = sys.modules[value.__module__]
                sources[value.__module__] = inspect.getsource(module)
                waiting.append(vars(module))
    text = "\0".join(sources[name] for name in sorted(sources))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_compiled_in(value: object) -> bool:
    """Whether machine code depends on a value's definition: kernels and named tuples."""
    is_tuple = isinstance(value, type) and issubclass(value, tuple) and value is not tuple
    return isinstance(value, CompiledKernel) or is_tuple


HOME = Path(__file__).parents[1]
"""Folder of the package."""
RECENT = 10.0
"""Seconds after a kernel was compiled in which the next is probably being compiled."""


def seem_compiling(since: float) -> bool:
    """Whether no kernel was ever compiled here, or one was since the given time."""
    times = [path.stat().st_mtime for folder in _folders() for path in folder.glob("_*.nbi")]
    latest = max(times, default=None)
    return latest is None or latest > max(since, time.time() - RECENT)


def _folders() -> list[Path]:
    """Folders in which Numba caches machine code."""
    packages = [path.parent for path in HOME.glob("*/__init__.py")]
    given = os.environ.get("NUMBA_CACHE_DIR")
    if not given:
        return [package / "__pycache__" for package in packages]
    # Numba names the folder by the package's name and a hash of its path
    return [folder for package in packages for folder in Path(given).glob(f"{package.name}_*")]
