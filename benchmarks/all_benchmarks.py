"""Run all benchmarks and write one table: ``python benchmarks/all_benchmarks.py``.

A benchmark calls ``row`` for each result, in addition to printing it. This script collects the
rows, with versions and cores, in ``build/bench``: ``table.md``, ``table.json``, and the output of
each script. Scripts can be selected by name; ``--peers`` is the Python of an environment with the
packages for comparison, for the scripts that need them. ``make bench`` creates that environment
and runs this script.
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
"""Scripts that compare with packages outside of Ensemblage's environment."""
SCALED = {
    "bench_blocks": ("--rows", "2000000", "--cluster-rows", "1000000", "--workers", "2"),
    "bench_fit_file": ("--rows", "1000000", "2000000"),
}
"""Options that reduce the size of slow scripts."""
HEADS = ("benchmark", "ours", "compared with", "ratio", "limit", "met")


def row(name, ours, peer=None, *, unit="s", against="", bar=None, least=False):
    """Record one result: ours, the peer's if there is one, and the limit of their ratio.

    Without a peer the limit is of the result itself; with ``least`` it is a lower limit.
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
    """Run one benchmark; return its rows, and the error if it failed."""
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
    """Versions of the packages installed for a Python; None if not installed."""
    code = (
        "import importlib.metadata as m, json, sys\n"
        "def v(n):\n    try: return m.version(n)\n    except m.PackageNotFoundError: return None\n"
        "print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
    )
    asked = subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, check=True)
    return json.loads(asked.stdout)


def machine():
    """Describe the machine."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads of linear algebra": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
    }


def amount(value, unit):
    """Format a value with its unit."""
    return "" if value is None else f"{value:.4g} {unit}".rstrip()


def markdown(table):
    """Format the table as Markdown."""
    facts = {**table["machine"], **{k: v for k, v in table["versions"].items() if v}}
    lines = ["# Benchmarks", "", ", ".join(f"{name} {value}" for name, value in facts.items())]
    for done in table["scripts"]:
        lines += ["", f"## {done['script']} ({done['seconds']:g} s)", ""]
        if done["failed"]:
            lines += [f"Failed: {done['failed']}", ""]
        if done["rows"]:
            lines += ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
        for each in done["rows"]:
            compared = " ".join(filter(None, [amount(each["peer"], each["unit"]), each["against"]]))
            ratio = "" if each["ratio"] is None else f"{each['ratio']:.2f}"
            limit = (
                "" if each["bar"] is None else f"{'≥' if each['least'] else '≤'} {each['bar']:g}"
            )
            kept = {None: "", True: "yes", False: "no"}[each["kept"]]
            ours = amount(each["ours"], each["unit"])
            lines.append(f"| {each['name']} | {ours} | {compared} | {ratio} | {limit} | {kept} |")
    if table["skipped"]:
        lines += ["", "## Not measured", "", *(f"- {each}" for each in table["skipped"])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", help="names such as bench_hiss; by default all")
    parser.add_argument("--peers", help="Python of the environment with packages for comparison")
    given = parser.parse_args()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    names = given.scripts or sorted(path.stem for path in HERE.glob("bench_*.py"))
    peers = given.peers if given.peers and Path(given.peers).exists() else None
    found = versions(sys.executable)
    peer_found = versions(peers) if peers else dict.fromkeys(PACKAGES)
    table = {"machine": machine(), "versions": found | {k: v for k, v in peer_found.items() if v},
             "scripts": [], "skipped": []}  # fmt: skip
    for name in names:
        wanted = WITH_PEERS.get(name, ())
        absent = [each for each in wanted if not (found[each] or peer_found[each])]
        if absent:
            why = "no environment for comparison" if peers is None else "not installable"
            table["skipped"] += [f"{name}: {each} ({why})" for each in absent]
        python = peers if wanted and peers else sys.executable
        done = run_script(HERE / f"{name}.py", python, OUTPUT / "rows.jsonl")
        table["scripts"].append(done)
        # after each script, so that an interrupted run keeps its results
        (OUTPUT / "table.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
        (OUTPUT / "table.md").write_text(markdown(table), encoding="utf-8")
        missed = sum(each["kept"] is False for each in done["rows"])
        status = f"failed: {done['failed']}" if done["failed"] else f"{missed} limits missed"
        print(f"{name}: {len(done['rows'])} results, {status}, {done['seconds']:g} s", flush=True)
    print(f"written to {OUTPUT / 'table.md'} and {OUTPUT / 'table.json'}")
    return int(any(done["failed"] for done in table["scripts"]))


if __name__ == "__main__":
    sys.exit(main())
