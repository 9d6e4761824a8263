"""Keep what `ensemblage reproduce NAME --json` printed, and write its tables into the docs.

python docs/reproduction_pages.py [PRINTED.json ...]

Each file is slimmed into docs/reproduction/results/NAME.json. Then, in the pages beside them,
whatever stands between `<!-- table NAME -->` (or means, summary, notes, run) and `<!-- end -->` is
written anew.

python docs/reproduction_pages.py --check [NAME ...] [--data-dir FOLDER] [--minutes M]

Computes one row of each stored table again, that of its smallest dataset, and compares all its
columns with the stored values, to the digits that the pages print. M is the limit for each
experiment; columns whose cells are not finished by then are not compared. Neither are times, which
differ between machines, and means over datasets. A table of what was compared is printed, with the
commit of the stored values: the one that computed them, if it is known, else the one that first
stored them (in brackets).
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from ensemblage import __version__
from ensemblage.papers import paper_experiment
from ensemblage.studies import run_study

PAGES = Path(__file__).parent / "reproduction"
RESULTS = PAGES / "results"
MARK = re.compile(
    r"(<!-- (table|means|summary|notes|run) ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL
)
SCALES = {"standard": "", "quick": " --quick", "full": " --full"}


def slim(run):
    """Drop what changes from machine to machine; keep six digits of the numbers."""
    if not run["finished"]:
        raise SystemExit(f"{run['experiment']} has not finished: {run['cells']}")
    kept = {key: run[key] for key in ("experiment", "title", "scale", "seed", "cells")}
    name, scale = run["experiment"], SCALES[run["scale"]]
    kept["command"] = f"ensemblage reproduce {name}{scale} --seed {run['seed']} --data-dir FOLDER"
    kept["tables"] = [
        table | {"rows": [{key: rounded(value) for key, value in row.items()}
                          for row in table["rows"]]}
        for table in run["tables"]
    ]  # fmt: skip
    return kept


def rounded(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def written(run):
    """One row of a table per line, so that a change of one figure is one line."""
    head = {key: value for key, value in run.items() if key != "tables"}
    tables = []
    for table in run["tables"]:
        rows = ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in table["rows"])
        rest = {key: value for key, value in table.items() if key != "rows"}
        text = json.dumps(rest, indent=1, ensure_ascii=False)[:-2]
        tables.append(f'{text},\n "rows": [\n   {rows}\n ]\n}}')
    start = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    return f'{start},\n "tables": [\n' + ",\n".join(tables) + "\n ]\n}\n"


def read_results():
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("*.json"))
    }


def rewritten(page, results):
    """Make every marked part of a page from the results; parts without results stay."""
    tables = {table["name"]: table for run in results.values() for table in run["tables"]}

    def fresh(match):
        start, kind, name, end = match.groups()
        found = results.get(name) if kind == "run" else tables.get(name)
        return match[0] if found is None else f"{start}\n{PARTS[kind](found)}\n\n{end}"

    return MARK.sub(fresh, page)


def table_text(table):
    rows, digits = table["rows"], digits_of(table)
    columns = list(dict.fromkeys(row["column"] for row in rows))
    place = {(row["row"], row["column"]): row for row in rows}
    paper = any(row["paper"] is not None for row in rows)
    lines = [
        "| | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for name in dict.fromkeys(row["row"] for row in rows):
        cells = [entry_text(place.get((name, column)), digits, paper) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    what = "our mean ± its standard error"
    return f"*{table['measure']}: {what}{' / the paper' if paper else ''}.*\n\n" + "\n".join(lines)


def digits_of(table):
    """Decimals that are printed."""
    small = max(abs(row["ours"] or 0) for row in table["rows"]) <= 1.5
    return 3 if small or table["measure"] == "log loss" else 2


def means_text(table):
    return table_text(table | {"rows": [row for row in table["rows"] if row["is_mean"]]})


def entry_text(row, digits, paper):
    if row is None:
        return ""
    number = lambda value: f"{value:.{digits}f}"  # noqa: E731
    error = "" if row["standard_error"] is None else f" ± {number(row['standard_error'])}"
    ours = "-" if row["ours"] is None else number(row["ours"]) + error
    theirs = "-" if row["paper"] is None else number(row["paper"])
    failed = f" ({row['failures']} failed)" if row["failures"] else ""
    return f"{ours}{failed} / {theirs}" if paper else f"{ours}{failed}"


def bullets(lines):
    return "\n".join(f"- {line}" for line in lines)


def run_text(run):
    cells = run["cells"]
    failed = f", {cells['failed']} of them failed" if cells["failed"] else ""
    size = f"{cells['total']} cells{failed}"
    return f"    {run['command']}\n\nThe figures below are of that run: {size}."


PARTS = {
    "table": table_text,
    "means": means_text,
    "summary": lambda table: bullets(table["summary"]),
    "notes": lambda table: bullets(table["notes"]),
    "run": run_text,
}


def git(*arguments):
    """What git prints; empty outside a repository."""
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=PAGES,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def commit_of(name, run):
    """Commit that computed the stored values, else (in brackets) the one that first stored them."""
    if run.get("commit"):
        return run["commit"]
    first = "unknown"
    for commit in git("log", "--format=%h", "--", f"results/{name}.json").split():
        stored = git("show", f"{commit}:./results/{name}.json")
        if not stored or values_of(json.loads(stored)) != values_of(run):
            break
        first = commit
    return f"({first})"


def values_of(run):
    """All values, sorted: names of rows and columns may have changed since."""
    return sorted(row["ours"] or 0.0 for table in run["tables"] for row in table["rows"])


def datasets_of(run, folder):
    """Names of the datasets of an experiment, the smallest first."""
    experiment = paper_experiment(
        run["experiment"], scale=run["scale"], seed=run["seed"], data_dir=folder
    )
    names = experiment.summarise.keywords["scope"].datasets

    def size(name):
        files = [Path(folder or ".", f"{name}.csv"), *Path(folder or ".").rglob(f"{name}.csv")]
        return min((file.stat().st_size for file in files if file.is_file()), default=sys.maxsize)

    return sorted(names, key=size)


def is_row_of(row, dataset):
    """Whether a row is of this dataset alone."""
    stem = dataset.rpartition("/")[2]
    return row == stem or row.startswith(f"{stem}, ")


def smallest_row(table, datasets):
    """Dataset of a table's cheapest complete row, and the row; None if all are over datasets."""
    rows = [row for row in table["rows"] if not row["is_mean"]]
    partly = {row["row"] for row in rows if row["ours"] is None}
    names = dict.fromkeys(row["row"] for row in rows)
    pairs = [(each, name) for each in datasets for name in names if is_row_of(name, each)]
    return min(pairs, key=lambda pair: pair[1] in partly, default=None)


def recomputed(run, datasets, folder, seconds):
    """Entries of a new run on some datasets, by table, row and column, and its cells by state."""
    experiment = paper_experiment(
        run["experiment"], scale=run["scale"], seed=run["seed"], data_dir=folder, datasets=datasets
    )
    results = run_study(experiment, budget=seconds)
    entries = {
        (table.name, row.row, row.column): row
        for table in (experiment.summarise(results) if results else ())
        for row in table.rows
    }
    return entries, len(results), len(experiment.cells)


def compared(name, run, folder, seconds):
    """Compare one row of each table: lines of table, row, column, both values, verdict, commit."""
    datasets = datasets_of(run, folder)
    chosen = {table["name"]: smallest_row(table, datasets) for table in run["tables"]}
    wanted = list(dict.fromkeys(found[0] for found in chosen.values() if found))
    entries, done, total = recomputed(run, wanted, folder, seconds) if wanted else ({}, 0, 0)
    commit = commit_of(name, run)
    for table in run["tables"]:
        found, why = chosen[table["name"]], "means over datasets"
        if re.search(r"\b(seconds|milliseconds|ms)\b", table["measure"]):
            found, why = None, "times, which differ between machines"
        if found is None:
            yield table["name"], "", "", "", "", f"not compared: {why}", commit
            continue
        digits = digits_of(table)
        for row in table["rows"]:
            if row["row"] != found[1]:
                continue
            stored = printed(row["ours"], row["standard_error"], digits)
            fresh = entries.get((table["name"], row["row"], row["column"]))
            again = "-" if fresh is None else printed(fresh.ours, fresh.standard_error, digits)
            verdict = "equal" if stored == again else "DIFFERENT"
            if done < total and stored != again:
                verdict = f"not compared: {done} of {total} cells in time"
            yield table["name"], row["row"], row["column"], stored, again, verdict, commit


def printed(value, error, digits):
    """A value and its standard error as the pages print them."""
    if value is None:
        return "-"
    text = f"{rounded(value):.{digits}f}"
    return text if error is None else f"{text} ± {rounded(error):.{digits}f}"


def check(names, folder, seconds):
    """Print the comparison of each stored table; return the number of differences."""
    results, different = read_results(), 0
    for name in names or results:
        for line in compared(name, results[name], folder, seconds):
            sys.stdout.write(" | ".join(line) + "\n")
            sys.stdout.flush()
            different += line[5] == "DIFFERENT"
    sys.stdout.write(f"{different} different\n")
    return different


def main(files):
    RESULTS.mkdir(exist_ok=True)
    for file in files:
        run = slim(json.loads(Path(file).read_text("utf-8")))
        made = {"version": __version__, "commit": git("rev-parse", "--short", "HEAD")}
        (RESULTS / f"{run['experiment']}.json").write_text(written(run | made), "utf-8")
    results = read_results()
    for page in PAGES.glob("*.md"):
        page.write_text(rewritten(page.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data-dir")
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    if options.check:
        sys.exit(bool(check(options.names, options.data_dir, 60 * options.minutes)))
    main(options.names)
