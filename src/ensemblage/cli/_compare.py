"""The command ``ensemblage compare``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensemblage._core import count
from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_data,
    check_outputs,
    csv_text,
    guarded,
    note,
    progress_bar,
    say,
    shortened,
    show_block,
    show_json,
    show_reason,
    write_page,
)
from ensemblage.cli._options import (
    AUTO,
    METHOD_NAMES,
    REGRESSION_METHOD_NAMES,
    complete_method,
    read_options,
)

if TYPE_CHECKING:
    from ensemblage.studies import Comparison


# Dataset used without a file.
BUNDLED = "breast-cancer"
# Characters shown of a warning or error of a fit.
MAX_TEXT = 200
# Rows sampled from a larger file with --quick.
QUICK_ROWS = 50_000


@guarded
def compare_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A CSV, TSV, ARFF, Parquet or Excel file, `-` for CSV from standard input, or the "
            "name of a dataset. Default: a bundled one.",
        ),
    ] = None,
    *,
    target: options.Target = None,
    task: options.Task = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            autocompletion=complete_method,
            help=f"Method (may be repeated). Classification: {METHOD_NAMES}. Regression: "
            f"{REGRESSION_METHOD_NAMES}. Default: all, or the main ones with --quick.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds", min=2, metavar="N",
            help="Folds of the cross-validation. Default: 5, or 3 with --quick.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Faster: 3 folds, subsampled rows, smaller hyperparameter grids, fewer methods.",
        ),
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=1, metavar="N", help="Repeats of the cross-validation.")
    ] = 1,
    measure: options.Measure = AUTO,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write the table as CSV."),
    ] = None,
    report: options.Report = None,
    source: options.Source = None,
    new_sources: Annotated[
        bool,
        typer.Option(
            "--new-sources",
            help="Test on sources that are not in the training rows; needs --source.",
        ),
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="COLUMN", show_default=False,
            help="The column with each row's time: each period is predicted from the past.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="FILE",
            help="Results file: an interrupted comparison is resumed by the same command. Without "
            "it scores are not stored.",
        ),
    ] = None,
    budget: options.Budget = None,
    scheduler: options.Scheduler = None,
    retry_failed: options.RetryFailed = False,
    drop: options.Drop = None,
    read: options.Read = None,
    data_dir: options.DataDir = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Compare methods by cross-validation on the same folds, and recommend one."""
    del debug
    check_data(data)
    from ensemblage.datasets import open_dataset
    from ensemblage.persistence import write_atomically
    from ensemblage.studies import (
        ResultStore,
        check_method_name,
        compare,
        get_method,
        usual_methods,
    )

    n_splits = _n_splits(folds, time, quick)
    check_outputs(
        Output("--output", output, "text"), Output("--report", report, "page"),
        Output("--results", results), inputs=[data], data_dir=data_dir, force=force,
    )  # fmt: skip
    if data is None:
        note(f"No file given: using the bundled dataset {BUNDLED!r}.")
    for name in method or ():
        check_method_name(name)
    dataset = open_dataset(
        data or BUNDLED, target, data_dir=data_dir, drop=drop or (), source_column=source,
        options=read_options(read), task=task, draw=(QUICK_ROWS, seed) if quick else None,
    )  # fmt: skip
    names = method or usual_methods(
        task=dataset.task, sources=bool(source), quick=quick, n_columns=dataset.X.shape[1]
    )
    methods = [get_method(name, dataset.task.name) for name in names]
    with ExitStack() as stack:
        store = None if results is None else stack.enter_context(ResultStore(results))
        progress = stack.enter_context(
            progress_bar(
                f"Comparing {count(len(names), 'method')}",
                results=results,
                compiles=any(each.ours for each in methods),
            )
        )
        result = compare(
            dataset, methods=method or None, measure=measure,
            n_splits=n_splits, n_repeats=repeats, seed=seed, n_jobs=jobs, new_sources=new_sources,
            time=time, quick=quick, store=store, budget=budget, scheduler=scheduler,
            retry_failed=retry_failed, progress=progress,
        )  # fmt: skip
    _refuse_nothing(result, results)
    if output is not None:
        rows = result.rows()
        write_atomically(output, csv_text([*rows[0]], [[*row.values()] for row in rows]))
    if report is not None:
        write_page(report, result)
    if as_json:
        show_json(result)
    else:
        _show(result)
    _show_notes(result)
    if results is not None and not result.finished:
        say("Run the same command again to resume.", stderr=True)
    if output is not None:
        say(f"Written to {output}.", stderr=True)


def _n_splits(folds: int | None, time: str | None, quick: bool) -> int:
    """Give the number of folds; refuse one with periods."""
    if time is not None and folds is not None:
        raise ValueError("--folds is not for --time, whose folds are the periods: leave it out.")
    return folds or (3 if quick else 5)


def _refuse_nothing(result: Comparison, results: Path | None) -> None:
    """Raise an error if there is no result to show."""
    n_folds = result.methods[0].n_folds
    if n_folds == 0:
        remedy = "" if results is None else ", or run the same command again to resume"
        raise ValueError(
            f"the budget ended before every method had a fold: increase --budget{remedy}."
        )
    if all(len(each.failures) == n_folds for each in result.methods):
        raise ValueError(f"every method failed; first error: {result.methods[0].failures[0]}")


def _show(result: Comparison) -> None:
    from ensemblage.studies import comparison_block, comparison_title, expected_block

    block, expected = comparison_block(result), expected_block(result)
    say(comparison_title(result))
    if result.data is not None:
        say(f"  {result.data.sentence}")
        show_reason(result.data)
    show_block(block)
    say(block.legend)
    if expected is not None:
        show_block(expected)
        say(expected.legend)
    say(result.verdict, style="bold")
    if result.choice is not None:
        say(result.choice.detail)


def _show_notes(result: Comparison) -> None:
    for text in result.notes:
        note(text)
    for each in result.methods:
        folds = each.n_folds
        for text, times in each.warnings.items():
            note(f"{each.label}, {times} of {folds} folds: {shortened(text, MAX_TEXT)}")
        if each.failures:
            first = shortened(next(iter(each.failures.values())), MAX_TEXT)
            note(f"{each.label} failed on {len(each.failures)} of {folds} folds: {first}")
