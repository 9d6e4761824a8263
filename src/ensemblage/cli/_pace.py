"""How long work will still take, in words; and how long it may, from words."""

from __future__ import annotations

import re
import time

# In a log, a line every half minute says enough.
LINE_SECONDS = 30.0
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Pace:
    """Makes an occasional line about progress.

    Parameters
    ----------
    every : float, default=30
        Seconds between lines.
    """

    def __init__(self, every: float = LINE_SECONDS) -> None:
        self._every = every
        self._start: tuple[float, int] | None = None
        self._last = time.monotonic()

    def line(self, done: int, total: int) -> str:
        """Tell how far it is, if it is time to.

        Parameters
        ----------
        done, total : int
            Steps.

        Returns
        -------
        str
            Empty if the last line was a moment ago.
        """
        now = time.monotonic()
        if self._start is None:
            # what an earlier run has done says nothing about the pace
            self._start = now, done
        if now - self._last < self._every:
            return ""
        self._last = now
        began, before = self._start
        if done == before:
            return f"{done} of {total}"
        left = (now - began) / (done - before) * (total - done)
        return f"{done} of {total}, about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """Write a time as a person would.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        Such as "50 s", "4 min" or "2 h 10 min".
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def parse_time(text: str) -> float:
    """Read a time such as ``90s``, ``10m``, ``2h`` or ``1h30m``.

    Parameters
    ----------
    text : str
        What the user wrote; a number alone counts seconds.

    Returns
    -------
    float
        Seconds, more than zero.
    """
    number = r"\d+(?:\.\d+)?"
    clean = text.strip().lower().replace(" ", "")
    if re.fullmatch(number, clean):
        clean += "s"
    parts = re.findall(rf"({number})([smhd])", clean)
    seconds = sum(float(amount) * UNITS[unit] for amount, unit in parts)
    if "".join(amount + unit for amount, unit in parts) != clean or not seconds > 0:
        raise ValueError(f"{text!r} is no time; write 90s, 10m, 2h or 1h30m.")
    return seconds
