"""Accuracy of the remaining time that ``compare --quick`` estimates.

Each estimate is printed with the actual remaining time; the last line counts the estimates that are
wrong by more than a factor of two. The table has 20 columns and 3,000 rows, or ``--rows``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from all_benchmarks import row
from bench_compare import Made, write_table
from ensemblage.datasets import open_dataset
from ensemblage.studies import compare, usual_methods

FACTOR = 2.0
SHORT = 3.0  # seconds: estimates with less time left are not counted


class Estimate(NamedTuple):
    """Estimate at a moment of the run: cells done, and the seconds left, if any."""

    moment: float
    done: int
    left: float | None


class Listener:
    """Records the estimates of a progress bar."""

    def __init__(self) -> None:
        self.estimates: list[Estimate] = []
        self._start, self._left = time.monotonic(), 0.0

    def expect(self, spent: float, whole: float) -> None:
        """Estimate the remaining time from the cost of completed cells."""
        pace = (time.monotonic() - self._start) / spent if spent else 0.0
        self._left = pace * (whole - spent)

    def __call__(self, done: int, total: int) -> None:
        """Record the current estimate."""
        self.estimates.append(Estimate(time.monotonic(), done, self._left))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table(path, Made(rows, 13, 7, 0.0))
        dataset = open_dataset(str(path), "outcome")
    listener, start = Listener(), time.monotonic()
    compare(
        dataset, methods=usual_methods(sources=False, quick=True), n_splits=3, n_jobs=-1,
        quick=True, progress=listener,
    )  # fmt: skip
    end = time.monotonic()
    print(f"{'cells':>6}{'at':>9}{'estimate':>9}{'actual':>9}{'factor':>9}")
    off = 0
    for moment, done, left in listener.estimates:
        truth, at = end - moment, moment - start
        factor = max(left / truth, truth / left) if left and truth > 0 else None
        late = at > 0.1 * (end - start) and truth > SHORT
        off += late and (factor is None or factor > FACTOR)
        shown = "-" if left is None else f"{left:.1f}"
        remark = "" if late else "  early, or nearly done"
        print(f"{done:6}{at:9.1f}{shown:>9}{truth:9.1f}{factor or 0:9.2f}{remark}")
    row(f"estimates of the time left off by more than {FACTOR:g}", off, unit="", bar=0)
    print(
        f"{off} estimates off by more than {FACTOR:g} after the first tenth of {end - start:.1f} s"
    )


if __name__ == "__main__":
    main()
