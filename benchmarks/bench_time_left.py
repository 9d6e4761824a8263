"""How good ``compare --quick``'s estimates of the time left are, by the run's own clock.

Each estimate stands beside what was then really left; the last line counts those off by more than
twice. ``python benchmarks/bench_time_left.py`` takes a table of 3,000 rows and 20 columns;
``--rows`` another number.
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
SHORT = 3.0  # seconds: with less left than that, nobody looks


class Told(NamedTuple):
    """What was told at a moment of the run: cells done, and the seconds left, if any."""

    moment: float
    done: int
    left: float | None


class Listener:
    """Writes down what a progress bar would be told."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._start, self._left = time.monotonic(), 0.0

    def expect(self, spent: float, whole: float) -> None:
        """Judge by the cost of what is done how long the rest will take."""
        pace = (time.monotonic() - self._start) / spent if spent else 0.0
        self._left = pace * (whole - spent)

    def __call__(self, done: int, total: int) -> None:
        """Note what is told now."""
        self.told.append(Told(time.monotonic(), done, self._left))


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
    print(f"{'cells':>6}{'at':>9}{'told':>9}{'truth':>9}{'factor':>9}")
    off = 0
    for moment, done, left in listener.told:
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
