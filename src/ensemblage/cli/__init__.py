"""The command ``ensemblage``: parse, call, print."""

# ruff: noqa: PLC0415  a signal during imports must end the command without a traceback

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import Any

# Ctrl-C, `kill`, a closed terminal; as in `ensemblage._core`, which is large.
STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def main() -> None:
    """Run the command line."""
    # loky's helper process, which removes what a killed worker left, need not report it
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    atexit.register(exit_with_signal_code)
    for number in STOP_SIGNALS:
        # `nohup` and background jobs of a shell ignore some
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, exit_at_once)
            # last, before Python frees its modules and a signal would end it with another code
            atexit.register(signal.signal, number, signal.SIG_IGN)
    from ensemblage.cli._app import run

    run()


interrupted_by: list[int] = []
"""The signal that ended the work of a command, if any."""


def exit_with_signal_code() -> None:
    """Exit with the code of a signal; Python's own may differ if it came during an ``exec``."""
    if interrupted_by:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed or full
                stream.flush()
        os._exit(128 + interrupted_by[0])


def exit_at_once(number: int, frame: Any) -> None:
    """Exit before the work of a command, where there is nothing to clean up."""
    del frame
    os._exit(128 + number)


def exit_at_second(number: int, frame: Any) -> None:
    """Let a command that has done its work end, which takes a moment; exit at the next signal."""
    del frame
    signal.signal(number, exit_at_once)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ensemblage.cli._app import app

    return app
