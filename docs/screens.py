"""Terminal output of every command at 80, 100 and 140 columns, as text files.

python docs/screens.py FOLDER [--only NAME]

Each command runs on a terminal of its own (a pseudo-terminal) in FOLDER, on a table that is made
there: numeric and categorical columns, missing values, a date, an id and two sites.
FOLDER/80/explain-strata-row.txt is the output of ``ensemblage explain strata.skops people.csv --row
3`` at 80 columns. Outputs with a line that is too long, or with text that was cut, are listed.
page_screens.py does the same for reports.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import pty
import sys
import unicodedata
from pathlib import Path

import numpy as np

from ensemblage.cli import app

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
PEOPLE = ["people.csv", "-t", "outcome", "--drop", "id"]
FIT = ["fit", *PEOPLE, "--folds", "2", "-j", "1"]
MODELS = ("strata", "bayesnet", "subspace", "tree", "logistic", "forest", "auto")
HELPED = ("compare", "fit", "predict", "explain", "audit", "cluster", "run", "reproduce",
          "datasets", "doctor")  # fmt: skip
COMMANDS = {
    "help": ["--help"],
    **{f"help-{name}": [name, "--help"] for name in HELPED},
    **{f"fit-{name}": [*FIT, "-m", name, "-o", f"{name}.skops"] for name in MODELS},
    "fit-source": [*FIT, "-m", "strata-sources", "--source", "site", "-o", "source.skops"],
    **{f"explain-{name}": ["explain", f"{name}.skops", "people.csv"] for name in MODELS},
    **{f"explain-{name}-row": ["explain", f"{name}.skops", "people.csv", "--row", "3"]
       for name in MODELS},
    "explain-source": ["explain", "source.skops"],
    "explain-drawn": ["explain", "tree.skops", "-o", "tree.png", "--report", "tree.html"],
    "compare": ["compare", *PEOPLE, "--quick", "-j", "1", "-m", "majority", "-m", "logistic",
                "-m", "forest", "-m", "bayesnet", "-m", "tree", "--results", "compare.sqlite"],
    "predict": ["predict", "logistic.skops", "people.csv", "-o", "predicted.csv"],
    "predict-keep": ["predict", "tree.skops", "new.csv", "--keep", "id", "--keep", "site"],
    "audit": ["audit", *PEOPLE, "--source", "site", "-m", "logistic", "-j", "1"],
    "cluster": ["cluster", *PEOPLE, "-k", "3"],
    "cluster-consensus": ["cluster", *PEOPLE, "-m", "average", "-o", "labels.csv"],
    "run": ["run", "study.toml", "--results", "study.sqlite", "-j", "1"],
    "reproduce": ["reproduce", "inner-table1", "--quick", "--dataset", "labor", "-j", "1",
                  "--results", "paper.sqlite"],
    "datasets": ["datasets"],
    "doctor": ["doctor"],
    "error-file": ["compare", "peopel.csv"],
    "error-kind": ["fit", "study.toml", "-t", "outcome", "-o", "m.skops"],
    "error-no-target": ["fit", "people.csv", "-o", "m.skops"],
    "error-target": ["fit", "people.csv", "-t", "outcom", "-o", "m.skops"],
    "error-method": ["fit", *PEOPLE, "-m", "forrest", "-o", "m.skops"],
    "error-drop": ["compare", *PEOPLE, "--drop", "Id"],
    "error-source": ["audit", *PEOPLE, "--source", "clinic"],
    "error-model": ["predict", "people.csv", "people.csv"],
    "error-columns": ["predict", "tree.skops", "other.csv"],
    "error-row": ["explain", "tree.skops", "people.csv", "--row", "500"],
    "error-row-model": ["explain", "tree.skops", "--row", "5"],
    "error-option": ["fit", *PEOPLE, "--fold", "3", "-o", "m.skops"],
    "error-output": ["fit", *PEOPLE, "-o", "nowhere/m.skops"],
    "error-study": ["run", "wrong.toml"],
    "error-table": ["reproduce", "hiss-table9"],
}  # fmt: skip


def main() -> None:
    """Run the commands and write their output."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="commands whose name starts so")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for package in ("papers", "report", "studies"):
        importlib.import_module(f"ensemblage.{package}")
    write_people(arguments.folder / "people.csv")
    write_small_files(arguments.folder)
    for name, command in COMMANDS.items():
        if arguments.only is not None and not name.startswith(arguments.only):
            continue
        for width in WIDTHS:
            shown = on_screen(command, width, arguments.folder)
            path = arguments.folder / str(width) / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(shown, encoding="utf-8")
            for fault in faults(shown, width):
                sys.stdout.write(f"{path}: {fault}\n")


def write_people(path: Path, n_rows: int = 160) -> None:
    """Write a typical table."""
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


def write_small_files(folder: Path) -> None:
    """Write a valid and an invalid study, a few new rows, and an unrelated table."""
    rows = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    for name, text in {
        "study.toml": STUDY,
        "wrong.toml": STUDY.replace("logistic", "logistics"),
        "new.csv": "\n".join(rows[:6]).replace("cook", "pilot") + "\n",
        "other.csv": "age,weight\n33,70\n51,82\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")


def on_screen(command: list[str], width: int, folder: Path) -> str:
    """Run a command on a terminal of some columns; give its output.

    A fork has imported all it needs, so that each command takes little more than its own time.
    """
    process, parent = pty.fork()
    if process == 0:
        os.chdir(folder)
        # a dumb terminal has no bars that move; rich believes its columns if it has lines too
        os.environ |= {"TERM": "dumb", "COLUMNS": str(width), "LINES": "50"}
        app(command, prog_name="ensemblage")
    shown = b""
    try:
        while chunk := os.read(parent, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    os.waitpid(process, 0)
    return shown.decode(errors="replace").replace("\r\n", "\n")


def faults(shown: str, width: int) -> list[str]:
    """List the faults of an output: lines that are too long, text that was cut."""
    found = []
    for number, line in enumerate(shown.splitlines(), start=1):
        if columns_of(line) > width:
            found.append(f"line {number} is longer than {width}: {line}")
        if "…" in line:
            found.append(f"line {number} was cut: {line}")
        if line.strip() == "*":
            found.append(f"line {number} is a single star")
    return found


def columns_of(line: str) -> int:
    """Count the terminal columns of a line."""
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in line)


if __name__ == "__main__":
    main()
