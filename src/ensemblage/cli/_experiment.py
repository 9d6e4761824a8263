"""What ``run`` and ``reproduce`` share: run the cells, show the tables, say how to go on."""
# ruff: noqa: PLC0415  scikit-learn is imported inside, so that --help answers at once

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli._console import count, note, progress_bar, say, show_json, show_table
from ensemblage.cli._pace import parse_time
from ensemblage.cli._page import check_page, write_page

if TYPE_CHECKING:
    from ensemblage.runs import CellResult, Experiment, ResultRow, ResultTable

RESULTS = Path("ensemblage-results.sqlite")
# The scale of an experiment that no paper has.
OWN = "declared"
MOST_FAILURES = 3
SHORT = 160


def _check_budget(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_time(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text


Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="FILE",
        help="Where finished cells are kept; what is there is not computed again.",
    ),
]  # fmt: skip
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", callback=_check_budget,
        help="Stop after that time with what there is: 90s, 10m, 2h.",
    ),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Compute on a Dask cluster: tcp://HOST:PORT of its scheduler.",
    ),
]  # fmt: skip
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Compute cells again that failed earlier.")
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", metavar="FILE", help="Write one line per cell: FILE.csv or FILE.parquet."
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, beside the experiment itself.

    Parameters
    ----------
    results : Path
        The store.
    jobs : int
        Processes.
    seed : int
        Shown, as it is in the cells already.
    scale : str
        Shown; "declared" for an experiment of the user's own.
    budget, scheduler : str or None
        When to stop, and where to compute.
    retry_failed : bool
        Whether failed cells are computed again.
    export, report : Path or None
        Files to write.
    as_json : bool
        Whether to print JSON.
    """

    results: Path
    jobs: int
    seed: int
    scale: str
    budget: str | None = None
    scheduler: str | None = None
    retry_failed: bool = False
    export: Path | None = None
    report: Path | None = None
    as_json: bool = False


def check_outputs(options: RunOptions) -> None:
    """Refuse files that could not be written, before any work is done.

    Parameters
    ----------
    options : RunOptions
        With the files.
    """
    from ensemblage.persistence import check_writable
    from ensemblage.runs import check_export

    if options.export is not None:
        check_export(options.export)
        check_writable(options.export)
    check_page(options.report)


def run_and_show(experiment: Experiment, options: RunOptions) -> None:
    """Run an experiment as far as asked, then print its tables.

    Parameters
    ----------
    experiment : Experiment
        What to compute.
    options : RunOptions
        How far, where, and what to write.
    """
    from ensemblage.runs import ResultStore, export_results, run_experiment

    budget = None if options.budget is None else parse_time(options.budget)
    with ExitStack() as stack:
        store = stack.enter_context(ResultStore(options.results))
        earlier = store.get(cell.key for cell in experiment.cells)
        _say_what_is_there(len(earlier), len(experiment.cells), options)
        progress = stack.enter_context(progress_bar(f"Running {experiment.name}"))
        results = run_experiment(
            experiment, store, n_jobs=options.jobs, budget=budget, scheduler=options.scheduler,
            progress=progress, retry_failed=options.retry_failed,
        )  # fmt: skip
    _refuse_if_all_failed(results)
    tables = experiment.summarise(results)
    if options.export is not None:
        export_results(results, options.export)
    facts = plain_run(experiment, results, tables, options)
    if options.report is not None:
        from ensemblage.report import experiment_page

        write_page(options.report, experiment_page(facts))
    if options.as_json:
        show_json(facts)
    else:
        heads = ("dataset", "method") if options.scale == OWN else ("row", "column")
        for table in tables:
            _show(table, heads)
        for text in dict.fromkeys(text for table in tables for text in table.notes):
            say(f"- {text}")
    _say_how_it_ended(results, facts, options)


def plain_run(
    experiment: Experiment,
    results: Sequence[CellResult],
    tables: Sequence[ResultTable],
    options: RunOptions,
) -> dict[str, Any]:
    """Give a run as plain data, for JSON.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    results : sequence of CellResult
        What there is of its cells.
    tables : sequence of ResultTable
        What they become.
    options : RunOptions
        What was asked for.

    Returns
    -------
    dict
        As documented in the guide on experiments.
    """
    total = len(experiment.cells)
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "scale": options.scale,
        "seed": options.seed,
        "cells": {
            "total": total,
            "done": len(results),
            "failed": sum(bool(each.error) for each in results),
        },
        "tables": [_plain_table(table) for table in tables],
        "results": str(options.results),
        "report": None if options.report is None else str(options.report),
        "finished": len(results) == total,
    }


def _plain_table(table: ResultTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "measure": table.measure,
        "greater_is_better": table.greater_is_better,
        "summary": list(table.summary),
        "notes": list(table.notes),
        "rows": [asdict(row) | {"difference": row.difference} for row in table.rows],
    }


def _say_what_is_there(there: int, total: int, options: RunOptions) -> None:
    if there:
        say(f"{there} of {count(total, 'cell')} found in {options.results}.", stderr=True)


def _refuse_if_all_failed(results: Sequence[CellResult]) -> None:
    if results and all(each.error for each in results):
        raise ValueError(
            f"all {len(results)} cells failed; the first said: {_short(results[0].error)} "
            "(--retry-failed tries them again)"
        )


def _show(table: ResultTable, names: tuple[str, str]) -> None:
    say(f"{table.title}: {table.measure}; ± is a standard error")
    paper = any(row.paper is not None for row in table.rows)
    noted = any(row.note for row in table.rows)
    heads = [(name, "left") for name in names]
    heads += [("paper", "right")] * paper + [("ours" if paper else "mean", "right")]
    heads += [("difference", "right")] * paper + [("repeats", "right")]
    heads += [("note", "left")] * noted
    show_table(heads, [_cells(row, paper=paper, noted=noted) for row in table.rows])
    for text in table.summary:
        say(text)


def _cells(row: ResultRow, *, paper: bool, noted: bool) -> list[str]:
    spread = "" if row.standard_error is None else f" ± {_number(row.standard_error)}"
    ours = "-" if row.ours is None else f"{_number(row.ours)}{spread}"
    failed = f" ({row.failures} failed)" if row.failures else ""
    cells = [row.row, row.column]
    cells += [_number(row.paper)] * paper + [ours]
    cells += [_number(row.difference, "+")] * paper + [f"{row.repeats}{failed}"]
    return cells + [_short(row.note)] * noted


def _number(value: float | None, sign: str = "") -> str:
    """Four decimals for shares, four digits for what is larger, such as per cents."""
    if value is None:
        return "-"
    return f"{value:{sign}.4f}" if abs(value) < 10 else f"{value:{sign}.2f}"


def _say_how_it_ended(
    results: Sequence[CellResult], facts: dict[str, Any], options: RunOptions
) -> None:
    failed = [each for each in results if each.error]
    for each in failed[:MOST_FAILURES]:
        note(f"a cell failed ({_params(each)}): {_short(each.error)}")
    if failed:
        note(
            f"{count(len(failed), 'cell')} of {len(results)} failed; run the same command with "
            "--retry-failed to try them again."
        )
    if not facts["finished"]:
        cells = facts["cells"]
        say(
            f"Stopped by the budget after {cells['done']} of {cells['total']} cells; run the same "
            "command again to go on.",
            stderr=True,
        )
    if options.export is not None:
        say(f"{count(len(results), 'cell')} written to {options.export}.", stderr=True)


def _params(result: CellResult) -> str:
    return _short(", ".join(f"{name} {value}" for name, value in result.cell.params.items()))


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"
