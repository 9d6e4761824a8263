"""The commands ``ensemblage run`` and ``ensemblage reproduce``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage._core import count
from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_outputs,
    guarded,
    note,
    progress_bar,
    say,
    shortened,
    show_json,
    show_table,
    write_page,
)
from ensemblage.cli._options import RESULTS, check_seed
from ensemblage.papers import PAPER_EXPERIMENTS

if TYPE_CHECKING:
    from ensemblage.persistence import Kind
    from ensemblage.studies import CellResult, Experiment, ResultRow, ResultTable, RunDocument


# Scale of an experiment that is declared in a TOML file.
OWN = "declared"
# Failed cells of which the error is shown.
MAX_FAILURES = 3


@dataclass(frozen=True)
class RunOptions:
    """Options of a run; seed and scale are only displayed."""

    results: Path
    jobs: int
    seed: int
    scale: str
    budget: float | None = None
    scheduler: str | None = None
    retry_failed: bool = False
    export: Path | None = None
    report: Path | None = None
    as_json: bool = False


@guarded
def run_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml", show_default=False,
            help="File that declares datasets, methods, parameters and repeats.",
        ),
    ],
    *,
    results: options.Results = RESULTS,
    budget: options.Budget = None,
    scheduler: options.Scheduler = None,
    retry_failed: options.RetryFailed = False,
    export: options.Export = None,
    report: options.Report = None,
    data_dir: options.DataDir = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, callback=check_seed, metavar="N",
            help="Random seed. Default: that of the file.",
        ),
    ] = None,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Run an experiment declared in a TOML file; interrupted runs can be resumed."""
    del debug
    from ensemblage.studies import StudyParams, make_experiment, read_study_file

    folder = None if data_dir is None else str(data_dir)
    study = read_study_file(file)
    read = [file, *(each.file or each.name for each in study.datasets)]
    _check_files(results, export, report, inputs=read, data_dir=data_dir, force=force)
    experiment = make_experiment(study, file, seed=seed, data_dir=folder)
    own_seed = StudyParams.of(experiment.cells[0]).seed
    request = RunOptions(
        results, jobs, own_seed, OWN, budget, scheduler, retry_failed, export, report, as_json,
    )  # fmt: skip
    _run_and_show(experiment, request)


def _known(name: str) -> str:
    if name not in PAPER_EXPERIMENTS:
        raise typer.BadParameter(f"{name!r} is not one of: {', '.join(PAPER_EXPERIMENTS)}.")
    return name


@guarded
def reproduce_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help=f"Table or figure of a paper: {', '.join(PAPER_EXPERIMENTS)}.",
            callback=_known,
            autocompletion=lambda: list(PAPER_EXPERIMENTS),
            show_default=False,
        ),
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small subset, in under two minutes.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's full protocol.")] = False,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this dataset (may be repeated)."),
    ] = None,
    results: options.Results = RESULTS,
    budget: options.Budget = None,
    scheduler: options.Scheduler = None,
    retry_failed: options.RetryFailed = False,
    export: options.Export = None,
    report: options.Report = None,
    data_dir: options.DataDir = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce a paper's table or figure; print the paper's values beside ours."""
    del debug
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other.")
    from ensemblage.datasets import find_folder
    from ensemblage.papers import paper_experiment

    folder = find_folder(data_dir)
    files = [] if folder is None else [*folder.glob("*.csv")]
    _check_files(results, export, report, inputs=files, force=force)
    scale = "quick" if quick else "full" if full else "standard"
    request = RunOptions(
        results, jobs, seed, scale, budget, scheduler, retry_failed, export, report, as_json
    )
    experiment = paper_experiment(
        name, scale=scale, seed=seed, data_dir=None if data_dir is None else str(data_dir),
        datasets=dataset,
    )  # fmt: skip
    _run_and_show(experiment, request)


def _check_files(results: Path, export: Path | None, report: Path | None, **rest: Any) -> None:
    """Refuse files that cannot be written, before any work is done."""
    kind: Kind = "text"
    if export is not None:
        from ensemblage.datasets import is_parquet
        from ensemblage.studies import check_export

        check_export(export)
        kind = "parquet" if is_parquet(export) else "text"
    check_outputs(
        Output("--export", export, kind), Output("--report", report, "page"),
        Output("--results", results), **rest,
    )  # fmt: skip


def _run_and_show(experiment: Experiment, request: RunOptions) -> None:
    """Run an experiment within the budget, then print its tables."""
    from ensemblage.studies import ResultStore, export_results, run_study

    with ExitStack() as stack:
        store = stack.enter_context(ResultStore(request.results))
        progress = stack.enter_context(
            progress_bar(f"Running {experiment.name}", results=request.results, compiles=True)
        )
        results = run_study(
            experiment, store, n_jobs=request.jobs, budget=request.budget,
            scheduler=request.scheduler, progress=progress, retry_failed=request.retry_failed,
        )  # fmt: skip
    _refuse_if_all_failed(results)
    tables = experiment.summarise(results)
    if request.export is not None:
        export_results(results, request.export)
    document = _document(experiment, results, tables, request)
    if request.report is not None:
        write_page(request.report, document)
    if request.as_json:
        show_json(document)
    else:
        heads = ("dataset", "method") if request.scale == OWN else ("row", "column")
        for number, table in enumerate(tables):
            if number:
                say("")
            say(_heading(table))
            _show(table, heads)
        for text in dict.fromkeys(text for table in tables for text in table.notes):
            say(f"- {text}")
    _show_outcome(results, document, request)


def _document(
    experiment: Experiment,
    results: Sequence[CellResult],
    tables: Sequence[ResultTable],
    request: RunOptions,
) -> RunDocument:
    from ensemblage.studies import CellCounts, RunDocument

    cells = CellCounts.of(results, len(experiment.cells))
    return RunDocument(
        experiment=experiment.name,
        title=experiment.title,
        scale=request.scale,
        seed=request.seed,
        cells=cells,
        tables=list(tables),
        results=str(request.results),
        report=None if request.report is None else str(request.report),
        finished=cells.done == cells.total,
        data=experiment.data,
    )


def _refuse_if_all_failed(results: Sequence[CellResult]) -> None:
    if results and all(each.error for each in results):
        raise ValueError(
            f"all {len(results)} cells failed; first error: {shortened(results[0].error)} "
            "(--retry-failed repeats them)"
        )


def _heading(table: ResultTable) -> str:
    has_errors = any(row.standard_error is not None for row in table.rows)
    return f"{table.title}: {table.measure}" + " ± standard error" * has_errors


def _show(table: ResultTable, names: tuple[str, str]) -> None:
    from ensemblage.studies import entry_notes

    paper = any(row.paper is not None for row in table.rows)
    heads = [(name, "left") for name in names]
    heads += [("paper", "right")] * paper + [("ours" if paper else "mean", "right")]
    heads += [("difference", "right")] * paper + [("values", "right")]
    values = [value for row in table.rows for value in (row.ours, row.paper) if value is not None]
    # four decimals for proportions, two for larger values such as percentages
    digits = 4 if max(map(abs, values), default=0.0) < 10 else 2
    show_table(heads, [_fields(row, digits, paper=paper) for row in table.rows])
    for text in (*table.summary, *entry_notes(table.rows)):
        say(text)


def _fields(row: ResultRow, digits: int, *, paper: bool) -> list[str]:
    error = "" if row.standard_error is None else f" ± {row.standard_error:.{digits}f}"
    ours = _number(row.ours, f".{digits}f") + ("" if row.ours is None else error)
    failed = f" ({row.failures} failed)" if row.failures else ""
    fields = [row.row, row.column]
    fields += [_number(row.paper, f".{digits}f")] * paper + [ours]
    difference = _number(row.difference, f"+.{digits}f")
    return fields + [difference] * paper + [f"{row.repeats}{failed}"]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _show_outcome(
    results: Sequence[CellResult], document: RunDocument, request: RunOptions
) -> None:
    failed = [each for each in results if each.error]
    for each in failed[:MAX_FAILURES]:
        note(f"A cell failed ({_params(each)}): {shortened(each.error)}")
    if failed:
        note(
            f"{count(len(failed), 'cell')} of {len(results)} failed; run the same command with "
            "--retry-failed to repeat them."
        )
    if not document.finished:
        say(
            f"Stopped at the end of the budget after {document.cells.done} of "
            f"{document.cells.total} cells; run the same command again to resume.",
            stderr=True,
        )
    if request.export is not None:
        say(f"{count(len(results), 'cell')} written to {request.export}.", stderr=True)


def _params(result: CellResult) -> str:
    return shortened(", ".join(f"{name} {value}" for name, value in result.cell.params.items()))
