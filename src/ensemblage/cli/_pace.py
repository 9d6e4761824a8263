"""How long work will still take, in words; and how long it may, from words."""

from __future__ import annotations

import re
import time

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Pace:
    """Tells how far work is, and how long the rest will take at the pace so far."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None

    @property
    def is_new(self) -> bool:
        """Whether nothing has been told yet."""
        return self._start is None

    def line(self, done: int, total: int) -> str:
        """Tell how far it is, such as "3 of 10, about 4 min left".

        Steps of the first call were done before, and say nothing about the pace.
        """
        now = time.monotonic()
        if self._start is None:
            self._start = now, done
        began, before = self._start
        if done == before:
            return f"{done} of {total}"
        left = (now - began) / (done - before) * (total - done)
        return f"{done} of {total}, about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """Write a time as a person would: "50 s", "4 min" or "2 h 10 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def parse_time(text: str) -> float:
    """Read a time such as ``90s``, ``10m``, ``2h`` or ``1h30m``; a number alone counts seconds."""
    number = r"\d+(?:\.\d+)?"
    clean = text.strip().lower().replace(" ", "")
    if re.fullmatch(number, clean):
        clean += "s"
    parts = re.findall(rf"({number})([smhd])", clean)
    seconds = sum(float(amount) * UNITS[unit] for amount, unit in parts)
    if "".join(amount + unit for amount, unit in parts) != clean or not seconds > 0:
        raise ValueError(f"{text!r} is no time; write 90s, 10m, 2h or 1h30m.")
    return seconds
