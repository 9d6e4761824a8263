"""Startup time of commands: CPU time of a process and its children, the best of several.

The unit is the CPU time of importing the required parts of scikit-learn, measured in the same run.

Run ``python benchmarks/bench_start.py`` from the repository's root; ``--repeats 1`` is quick.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from all_benchmarks import row

UNIT = "import sklearn.linear_model, sklearn.ensemble, sklearn.svm, sklearn.model_selection"
N_ROWS, N_COLUMNS = 300, 6


class Case(NamedTuple):
    """A command and its limit, in units."""

    name: str
    arguments: tuple[str, ...]
    bar: float
    exit_code: int = 0


FIT = ("fit", "rows.csv", "-t", "class")
CASES = (
    Case("--help", ("--help",), 0.2),
    Case("missing file", ("fit", "absent.csv", "-t", "class", "-o", "x.skops"), 0.2, 1),
    Case("predict, logistic", ("predict", "logistic.skops", "rows.csv"), 1.3),
    Case("predict, strata", ("predict", "strata.skops", "rows.csv"), 1.4),
    Case("fit, logistic", (*FIT, "-m", "logistic", "-o", "l.skops"), 2.5),
    Case("fit, strata", (*FIT, "-m", "strata", "-o", "s.skops"), 4.0),
)
NEW_MACHINE = (
    4.0  # limit of the additional cost of a first fit with an empty kernel cache, in units
)
POOL_FIT = (*FIT, "-o", "pool.skops")
NUMERIC_POOL_FIT = ("fit", "rows.csv", "-t", "x0", "-o", "numeric_pool.skops")
NEW_MACHINE_POOL = 3.0  # limit of the same for the default pools, in seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="runs; the best is reported")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.csv")
        for method in ("logistic", "strata"):  # models for predict; fills the kernel cache
            run(folder, (*FIT, "-m", method, "-o", f"{method}.skops"))
        unit = best(lambda: spent([sys.executable, "-c", UNIT], folder), repeats)
        print(f"unit: {unit:.2f} s of CPU for {UNIT!r}\n")
        print(f"{'command':28}{'CPU s':>8}{'units':>8}{'limit':>8}")
        for case in CASES:
            seconds = best(lambda case=case: run(folder, case.arguments, case.exit_code), repeats)
            show(case.name, seconds, unit, case.bar)
        seconds_of_first = best(lambda: first_fit(folder), max(1, repeats // 2))
        show("first fit, additional", seconds_of_first - seconds, unit, NEW_MACHINE)
        show_first_pool("fit, pool", folder, POOL_FIT, max(1, repeats // 2))
        show_first_pool("fit, numeric pool", folder, NUMERIC_POOL_FIT, max(1, repeats // 2))


def write_rows(path: Path) -> None:
    """Write a numeric table with two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    labels = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=N_ROWS) > 0).astype(int)
    lines = [",".join([*(f"x{j}" for j in range(N_COLUMNS)), "class"])]
    lines += [
        ",".join([*(f"{value:.4f}" for value in row), "ab"[label]])
        for row, label in zip(X, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(folder: Path, arguments: Sequence[str], exit_code: int = 0, **environment: str) -> float:
    command = [sys.executable, "-m", "ensemblage", *arguments]
    return spent(command, folder, exit_code, **environment)


def first_fit(folder: Path, arguments: Sequence[str] = CASES[-1].arguments) -> float:
    """Fit with an empty kernel cache."""
    with tempfile.TemporaryDirectory() as cache:
        return run(folder, arguments, NUMBA_CACHE_DIR=cache)


def show_first_pool(name: str, folder: Path, fit: Sequence[str], repeats: int) -> None:
    """Compare the first fit of a default pool on a new machine with later ones, in seconds."""
    first = best(lambda: first_fit(folder, fit), repeats)
    run(folder, fit)  # fills the kernel cache
    later = best(lambda: run(folder, fit), repeats)
    extra, limit = first - later, NEW_MACHINE_POOL
    verdict = "" if extra <= limit else "  above the limit"
    row(f"{name}, first on a new machine, additional", extra, bar=limit)
    print(f"{name:28}first {first:.2f} s, later {later:.2f} s, additional {extra:.2f} s,", end=" ")
    print(f"limit {limit:.1f} s{verdict}", flush=True)


def spent(command: Sequence[str], folder: Path, exit_code: int = 0, **environment: str) -> float:
    """CPU seconds of a process and its children."""
    before = os.times()
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    after = os.times()
    assert done.returncode == exit_code, done.stderr
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def best(measure: Callable[[], float], repeats: int) -> float:
    return min(measure() for _ in range(repeats))


def show(name: str, seconds: float, unit: float, bar: float) -> None:
    units = seconds / unit
    verdict = "" if units <= bar else "  above the limit"
    row(name, seconds, unit, bar=bar, against="scikit-learn's imports")
    print(f"{name:28}{seconds:8.2f}{units:8.2f}{bar:8.1f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
