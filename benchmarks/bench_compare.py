"""Time ``ensemblage compare --quick`` on generated tables of mixed types with missing values.

CPU seconds of the command and its workers; a first call on a small table compiles the kernels.
``python benchmarks/bench_compare.py`` runs all tables, or those named.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from all_benchmarks import row

# Categories per categorical column.
N_CATEGORIES = (30, 200, 5, 2, 8, 3, 12, 6, 4, 20)
# Fraction of missing values.
MISSING = 0.05


class Made(NamedTuple):
    """Rows, numeric and categorical columns, and the limit in CPU seconds."""

    rows: int
    numeric: int
    categorical: int
    allowed: float


TABLES = {"small": Made(300, 4, 2, 60.0), "10k": Made(10_000, 13, 7, 45.0),
          "50k": Made(50_000, 20, 10, 90.0)}  # fmt: skip


def write_table(path: Path, made: Made) -> None:
    """Write a table whose class depends on numeric columns, a product and a category."""
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(made.rows, made.numeric)).round(3)
    codes = [rng.integers(0, size, made.rows) for size in N_CATEGORIES[: made.categorical]]
    score = numeric[:, 0] + 0.8 * numeric[:, 1] * numeric[:, 2] + 0.7 * (codes[-1] == 1)
    truth = np.where(score + rng.logistic(size=made.rows) > 0.2, "stay", "leave")
    columns = [each.astype(str) for each in numeric.T]
    columns += [np.char.add(f"word{i} ", each.astype(str)) for i, each in enumerate(codes)]
    table = np.column_stack(columns)
    table[rng.random(table.shape) < MISSING] = ""
    heads = [f"n{j}" for j in range(made.numeric)] + [f"w{j}" for j in range(made.categorical)]
    lines = [",".join([*heads, "outcome"])]
    lines += [",".join([*row, label]) for row, label in zip(table, truth, strict=True)]
    path.write_text("\n".join(lines), encoding="utf-8")


def cpu_seconds(path: Path) -> tuple[float, dict]:
    """Run the command; return the CPU time of all its processes, and its JSON output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ensemblage", "compare", str(path), "-t", "outcome"]
    done = subprocess.run(
        [*command, "--quick", "--json"], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads(done.stdout)


def main(names: list[str]) -> int:
    """Time each table; return 1 if one exceeds its limit."""
    late = False
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys(["small", *(names or TABLES)]):
            made, path = TABLES[name], Path(folder) / f"{name}.csv"
            write_table(path, made)
            seconds, facts = cpu_seconds(path)
            late |= seconds > made.allowed and name != "small"
            print(f"{name:6} {seconds:6.1f} s CPU, limit {made.allowed:.0f}")
            row(f"compare --quick, {name}", seconds, bar=made.allowed if name != "small" else None)
            for each in facts["summary"]:
                spent = f"{each['seconds']:.2f} s per fold"
                print(f"       {each['label']:24} {each['score']:.4f}  {spent}")
            print(f"       {facts['verdict']}", flush=True)
    return int(late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
