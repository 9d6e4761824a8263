"""The screens of every command at 80, 100 and 140 columns, as text files to look at.

python benchmarks/screens.py FOLDER [--only NAME]

Each command runs on a terminal of its own (a pseudo-terminal) in FOLDER, on a table that is made
there: words, gaps, a date, an id and two sites. FOLDER/80/explain-strata-row.txt is what a user
sees of ``ensemblage explain strata.skops people.csv --row 3`` on a screen of 80 columns. Screens
with a line that is too long, or text that was cut, are named. page_screens.py does pages.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np

WIDTHS = (80, 100, 140)
STUDY = """
name = "study"
title = "A study"
folds = 2

[[datasets]]
name = "iris"

[[methods]]
name = "majority"
[[methods]]
name = "logistic"
"""
FIT = ["fit", "people.csv", "-t", "outcome", "--drop", "id", "--folds", "2", "-j", "1"]
MODELS = ("strata", "bayesnet", "subspace", "logistic", "forest")
HELPED = ("compare", "fit", "predict", "explain", "cluster", "run", "reproduce", "datasets")
COMMANDS = {
    "help": ["--help"],
    **{f"help-{name}": [name, "--help"] for name in HELPED},
    **{f"fit-{name}": [*FIT, "-m", name, "-o", f"{name}.skops"] for name in MODELS},
    **{f"explain-{name}": ["explain", f"{name}.skops", "people.csv"] for name in MODELS},
    **{
        f"explain-{name}-row": ["explain", f"{name}.skops", "people.csv", "--row", "3"]
        for name in MODELS
    },
    "compare": ["compare", "people.csv", "-t", "outcome", "--drop", "id", "--quick", "-j", "1",
                "-m", "majority", "-m", "logistic", "-m", "forest", "-m", "bayesnet",
                "--results", "compare.sqlite"],
    "predict": ["predict", "logistic.skops", "people.csv", "-o", "predicted.csv"],
    "cluster": ["cluster", "people.csv", "-k", "3", "-t", "outcome", "--drop", "id"],
    "run": ["run", "study.toml", "--results", "study.sqlite", "-j", "1"],
    "datasets": ["datasets"],
    "error-file": ["compare", "peopel.csv"],
    "error-target": ["fit", "people.csv", "-o", "m.skops"],
}  # fmt: skip


def main() -> None:
    """Run the commands and write what their screens show."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="commands whose name starts so")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_people(arguments.folder / "people.csv")
    (arguments.folder / "study.toml").write_text(STUDY, encoding="utf-8")
    for name, command in COMMANDS.items():
        if arguments.only is not None and not name.startswith(arguments.only):
            continue
        for width in WIDTHS:
            shown = on_screen(command, width, arguments.folder)
            path = arguments.folder / str(width) / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(shown, encoding="utf-8")
            for fault in faults(shown, width):
                print(f"{path}: {fault}")


def write_people(path: Path, n_rows: int = 160) -> None:
    """Write a table as people have them."""
    rng = np.random.default_rng(0)
    site = rng.integers(0, 2, n_rows)
    age = rng.normal(45 + 15 * site, 9).round()
    pressure = rng.normal(120 + 0.4 * age, 10).round()
    smokes = rng.random(n_rows) < 0.3
    risk = 0.06 * (age - 50) + 0.03 * (pressure - 140) + 1.2 * smokes + rng.normal(size=n_rows)
    rows = []
    for i in range(n_rows):
        day = np.datetime64("2021-01-04") + int(rng.integers(0, 900))
        rows.append([
            f"P{i:04d}", ["Basel", "Bern"][site[i]], f"{age[i]:.0f}",
            "" if i % 13 == 0 else f"{pressure[i]:.0f}", "yes" if smokes[i] else "no",
            ["cook", "teacher", "smith", "nurse"][int(rng.integers(0, 4))], str(day),
            f"{rng.gamma(2, 30):.1f}", "" if i % 7 == 0 else f"{rng.normal(5, 1):.2f}",
            "ill" if risk[i] > 0.3 else "well",
        ])  # fmt: skip
    head = ["id", "site", "age in years", "systolic blood pressure", "smokes", "profession",
            "first seen", "distance_to_the_clinic_km", "glucose", "outcome"]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def on_screen(command: list[str], width: int, folder: Path) -> str:
    """Run a command on a terminal of some columns; give what it shows in the end."""
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ensemblage.cli", *command], cwd=folder,
        stdin=subprocess.DEVNULL, stdout=child, stderr=child,
        # a dumb terminal has no bars that move, which would hide what stays
        env={**os.environ, "TERM": "dumb", "COLUMNS": str(width)},
    )  # fmt: skip
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    process.wait()
    return shown.decode(errors="replace").replace("\r\n", "\n")


def faults(shown: str, width: int) -> list[str]:
    """Name what is wrong with a screen: lines that are too long, text that was cut."""
    found = []
    for number, line in enumerate(shown.splitlines(), start=1):
        if columns_of(line) > width:
            found.append(f"line {number} is longer than {width}: {line}")
        if "…" in line:
            found.append(f"line {number} was cut: {line}")
        if line.strip() == "*":
            found.append(f"line {number} is a star of its own")
    return found


def columns_of(line: str) -> int:
    """Count the places that a line takes."""
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in line)


if __name__ == "__main__":
    main()
