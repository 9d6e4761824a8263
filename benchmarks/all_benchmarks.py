"""One table of all benchmarks: ``python benchmarks/all_benchmarks.py`` runs them and writes it.

A benchmark calls ``row`` for each of its figures, beside what it prints; on its own it only
prints. Run by this script, the rows are gathered with versions and cores in ``build/bench``:
``table.md`` to read, ``table.json`` for programs, and what each script printed. Scripts can be
named; ``--peers`` names the Python of the environment in which packages to compare with are
installed, for the scripts that ask for them. ``make bench`` makes both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "build" / "bench"
ROWS = "ENSEMBLAGE_BENCH_ROWS"
PACKAGES = ("ensemblage", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "dask", "lightgbm",
            "pyagrum", "pgmpy", "dask-ml")  # fmt: skip
WITH_PEERS = {"bench_bayes": ("pyagrum", "pgmpy"), "bench_blocks": ("dask-ml",)}
"""Which scripts ask for packages that are no part of Ensemblage's own environment."""
SCALED = {
    "bench_blocks": ("--rows", "2000000", "--cluster-rows", "1000000", "--workers", "2"),
    "bench_fit_file": ("--rows", "1000000", "2000000"),
}
"""Options by which a script that would take long is scaled down here."""
HEADS = ("benchmark", "ours", "beside it", "ratio", "limit", "kept")


def row(name, ours, peer=None, *, unit="s", against="", bar=None, least=False):
    """Note one figure: ours, the other side if there is one, and the limit of their ratio.

    Without another side the limit is of the figure itself; ``least`` if it is a lower one.
    """
    value = ours if peer is None else ours / peer
    kept = None if bar is None else bool(value >= bar if least else value <= bar)
    noted = {
        "name": name, "ours": float(ours), "peer": None if peer is None else float(peer),
        "unit": unit, "against": against, "ratio": None if peer is None else float(value),
        "bar": bar, "least": least, "kept": kept,
    }  # fmt: skip
    if ROWS in os.environ:
        with Path(os.environ[ROWS]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(noted) + "\n")
    return noted


def run_script(path, python, rows):
    """Run one benchmark; give its rows, and a reason if it failed."""
    rows.unlink(missing_ok=True)
    environment = {**os.environ, ROWS: str(rows), "PYTHONUNBUFFERED": "1"}
    start = time.monotonic()
    done = subprocess.run(
        [python, str(path), *SCALED.get(path.stem, ())],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    (OUTPUT / f"{path.stem}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = rows.read_text(encoding="utf-8").splitlines() if rows.exists() else []
    last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return {
        "script": path.stem,
        "seconds": round(time.monotonic() - start, 1),
        "failed": last if done.returncode else None,
        "rows": [json.loads(line) for line in lines],
    }


def versions(python):
    """Give the versions of what is installed for a Python; None where a package is not there."""
    code = (
        "import importlib.metadata as m, json, sys\n"
        "def v(n):\n    try: return m.version(n)\n    except m.PackageNotFoundError: return None\n"
        "print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
    )
    asked = subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, check=True)
    return json.loads(asked.stdout)


def machine():
    """Say on what it ran."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads of linear algebra": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
    }


def amount(value, unit):
    """Write a figure with its unit."""
    return "" if value is None else f"{value:.4g} {unit}".rstrip()


def markdown(table):
    """Write the table to read."""
    facts = {**table["machine"], **{k: v for k, v in table["versions"].items() if v}}
    lines = ["# Benchmarks", "", ", ".join(f"{name} {value}" for name, value in facts.items())]
    for done in table["scripts"]:
        lines += ["", f"## {done['script']} ({done['seconds']:g} s)", ""]
        if done["failed"]:
            lines += [f"It did not finish: {done['failed']}", ""]
        if done["rows"]:
            lines += ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
        for each in done["rows"]:
            beside = " ".join(filter(None, [amount(each["peer"], each["unit"]), each["against"]]))
            ratio = "" if each["ratio"] is None else f"{each['ratio']:.2f}"
            limit = (
                "" if each["bar"] is None else f"{'≥' if each['least'] else '≤'} {each['bar']:g}"
            )
            kept = {None: "", True: "yes", False: "no"}[each["kept"]]
            ours = amount(each["ours"], each["unit"])
            lines.append(f"| {each['name']} | {ours} | {beside} | {ratio} | {limit} | {kept} |")
    if table["skipped"]:
        lines += ["", "## Not measured", "", *(f"- {each}" for each in table["skipped"])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", help="names such as bench_hiss; all if left out")
    parser.add_argument("--peers", help="the Python of the environment with packages to compare")
    given = parser.parse_args()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    names = given.scripts or sorted(path.stem for path in HERE.glob("bench_*.py"))
    peers = given.peers if given.peers and Path(given.peers).exists() else None
    found = versions(sys.executable)
    beside = versions(peers) if peers else dict.fromkeys(PACKAGES)
    table = {"machine": machine(), "versions": found | {k: v for k, v in beside.items() if v},
             "scripts": [], "skipped": []}  # fmt: skip
    for name in names:
        wanted = WITH_PEERS.get(name, ())
        absent = [each for each in wanted if not (found[each] or beside[each])]
        if absent:
            why = "no environment with it" if peers is None else "it could not be installed"
            table["skipped"] += [f"{name}: {each}, as there is {why}" for each in absent]
        python = peers if wanted and peers else sys.executable
        done = run_script(HERE / f"{name}.py", python, OUTPUT / "rows.jsonl")
        table["scripts"].append(done)
        # after each script: a table that is stopped half-way has what was done
        (OUTPUT / "table.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
        (OUTPUT / "table.md").write_text(markdown(table), encoding="utf-8")
        missed = sum(each["kept"] is False for each in done["rows"])
        told = f"did not finish: {done['failed']}" if done["failed"] else f"{missed} limits missed"
        print(f"{name}: {len(done['rows'])} figures, {told}, {done['seconds']:g} s", flush=True)
    print(f"written to {OUTPUT / 'table.md'} and {OUTPUT / 'table.json'}")
    return int(any(done["failed"] for done in table["scripts"]))


if __name__ == "__main__":
    sys.exit(main())
