"""What ``run`` and ``reproduce`` share: run the cells, show the tables, say how to go on."""
# ruff: noqa: PLC0415  scikit-learn is imported inside, so that --help answers at once

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ensemblage.cli._console import note, progress_bar, say, shortened, show_json, show_table
from ensemblage.cli._page import check_page, write_page
from ensemblage.messages import count

if TYPE_CHECKING:
    from ensemblage.cli._run_options import RunOptions
    from ensemblage.runs import CellResult, Experiment, ResultRow, ResultTable, RunDocument

# The scale of an experiment that no paper has.
OWN = "declared"
MOST_FAILURES = 3


def check_outputs(options: RunOptions) -> None:
    """Refuse files that could not be written, before any work is done."""
    from ensemblage.persistence import check_writable
    from ensemblage.runs import check_export

    if options.export is not None:
        check_export(options.export)
        check_writable(options.export)
    check_page(options.report)


def run_and_show(experiment: Experiment, options: RunOptions) -> None:
    """Run an experiment as far as asked, then print its tables."""
    from ensemblage.runs import ResultStore, export_results, run_experiment

    with ExitStack() as stack:
        store = stack.enter_context(ResultStore(options.results))
        progress = stack.enter_context(
            progress_bar(f"Running {experiment.name}", results=options.results)
        )
        results = run_experiment(
            experiment, store, n_jobs=options.jobs, budget=options.seconds,
            scheduler=options.scheduler, progress=progress, retry_failed=options.retry_failed,
        )  # fmt: skip
    _refuse_if_all_failed(results)
    tables = experiment.summarise(results)
    if options.export is not None:
        export_results(results, options.export)
    document = _document(experiment, results, tables, options)
    if options.report is not None:
        from ensemblage.report import experiment_page

        write_page(options.report, experiment_page(document))
    if options.as_json:
        show_json(document)
    else:
        heads = ("dataset", "method") if options.scale == OWN else ("row", "column")
        for table in tables:
            _show(table, heads)
        for text in dict.fromkeys(text for table in tables for text in table.notes):
            say(f"- {text}")
    _say_how_it_ended(results, document, options)


def _document(
    experiment: Experiment,
    results: Sequence[CellResult],
    tables: Sequence[ResultTable],
    options: RunOptions,
) -> RunDocument:
    from ensemblage.runs import CellCounts, RunDocument, TableDocument

    cells = CellCounts.of(results, len(experiment.cells))
    return RunDocument(
        experiment=experiment.name,
        title=experiment.title,
        scale=options.scale,
        seed=options.seed,
        cells=cells,
        tables=[TableDocument.of(table) for table in tables],
        results=str(options.results),
        report=None if options.report is None else str(options.report),
        finished=cells.done == cells.total,
    )


def _refuse_if_all_failed(results: Sequence[CellResult]) -> None:
    if results and all(each.error for each in results):
        raise ValueError(
            f"all {len(results)} cells failed; the first said: {shortened(results[0].error)} "
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
    show_table(heads, [_fields(row, paper=paper, noted=noted) for row in table.rows])
    for text in table.summary:
        say(text)


def _fields(row: ResultRow, *, paper: bool, noted: bool) -> list[str]:
    spread = "" if row.standard_error is None else f" ± {_number(row.standard_error)}"
    ours = "-" if row.ours is None else f"{_number(row.ours)}{spread}"
    failed = f" ({row.failures} failed)" if row.failures else ""
    fields = [row.row, row.column]
    fields += [_number(row.paper)] * paper + [ours]
    fields += [_number(row.difference, "+")] * paper + [f"{row.repeats}{failed}"]
    return fields + [shortened(row.note)] * noted


def _number(value: float | None, sign: str = "") -> str:
    """Four decimals for shares, four digits for what is larger, such as per cents."""
    if value is None:
        return "-"
    return f"{value:{sign}.4f}" if abs(value) < 10 else f"{value:{sign}.2f}"


def _say_how_it_ended(
    results: Sequence[CellResult], document: RunDocument, options: RunOptions
) -> None:
    failed = [each for each in results if each.error]
    for each in failed[:MOST_FAILURES]:
        note(f"a cell failed ({_params(each)}): {shortened(each.error)}")
    if failed:
        note(
            f"{count(len(failed), 'cell')} of {len(results)} failed; run the same command with "
            "--retry-failed to try them again."
        )
    if not document.finished:
        say(
            f"Stopped by the budget after {document.cells.done} of {document.cells.total} cells; "
            "run the same command again to go on.",
            stderr=True,
        )
    if options.export is not None:
        say(f"{count(len(results), 'cell')} written to {options.export}.", stderr=True)


def _params(result: CellResult) -> str:
    return shortened(", ".join(f"{name} {value}" for name, value in result.cell.params.items()))
