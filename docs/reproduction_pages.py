"""Keep what `ensemblage reproduce NAME --json` printed, and write its tables into the docs.

python docs/reproduction_pages.py [PRINTED.json ...]

Each file is slimmed into docs/reproduction/results/NAME.json. Then, in the pages beside them,
whatever stands between `<!-- table NAME -->` (or means, summary, notes, run) and `<!-- end -->` is
written anew.
"""

import json
import re
import sys
from pathlib import Path

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
    rows = table["rows"]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    place = {(row["row"], row["column"]): row for row in rows}
    paper = any(row["paper"] is not None for row in rows)
    small = max(abs(row["ours"] or 0) for row in rows) <= 1.5 or table["measure"] == "log loss"
    digits = 3 if small else 2
    lines = [
        "| | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for name in dict.fromkeys(row["row"] for row in rows):
        cells = [entry_text(place.get((name, column)), digits, paper) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    what = "our mean ± its standard error"
    return f"*{table['measure']}: {what}{' / the paper' if paper else ''}.*\n\n" + "\n".join(lines)


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


def main(files):
    RESULTS.mkdir(exist_ok=True)
    for file in files:
        run = slim(json.loads(Path(file).read_text("utf-8")))
        (RESULTS / f"{run['experiment']}.json").write_text(written(run), "utf-8")
    results = read_results()
    for page in PAGES.glob("*.md"):
        page.write_text(rewritten(page.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
