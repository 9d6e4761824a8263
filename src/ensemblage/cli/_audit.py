"""The command ``ensemblage audit``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage._core import count
from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_data,
    check_outputs,
    guarded,
    load_model,
    note,
    progress_bar,
    say,
    show_block,
    show_json,
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
    from ensemblage.studies import AuditDocument

MODEL_SUFFIX = ".skops"


def _check_files(files: list[str]) -> list[str]:
    models = [each for each in files[:-1] if each.endswith(MODEL_SUFFIX)]
    if len(files) > 2 or len(models) < len(files) - 1:
        raise typer.BadParameter("expected DATA, or MODEL.skops and DATA.")
    return files


@guarded
def audit_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL.skops] DATA", show_default=False, callback=_check_files,
            help="A CSV, TSV, ARFF, Parquet or Excel file, `-` for CSV from standard input, or the "
            "name of a dataset; after a model file to audit its method with its settings.",
        ),
    ],
    *,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source", metavar="COLUMN",
            help="The column with each row's source (site, hospital). Twice for nested sources: "
            "the first, outer one is left out, and the second is not a feature.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="COLUMN",
            help="The column with each row's time: each period is predicted from the past.",
        ),
    ] = None,
    target: options.Target = None,
    task: options.Task = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", metavar="METHOD", autocompletion=complete_method,
            help="The method to audit; the source is not a feature. Default: auto, what `fit` "
            f"uses. Classification: {METHOD_NAMES}. Regression: {REGRESSION_METHOD_NAMES}.",
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold", metavar="RISK",
            help="Risk from which a row counts as positive (may be repeated). Default: .5 and the "
            "prevalence.",
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            "--event", metavar="CLASS",
            help="The class whose risk is reported. Default: the last in alphabetical order.",
        ),
    ] = None,
    interval: Annotated[
        str,
        typer.Option(
            "--interval", metavar="METHOD",
            help="Limits over sources: profile, or hartung-knapp, the convention.",
        ),
    ] = "profile",
    learning_curve: Annotated[
        bool,
        typer.Option(
            "--learning-curve/--no-learning-curve",
            help="Whether to fit on fewer sources too: up to 40 more fits.",
        ),
    ] = True,
    folds: options.Folds = 5,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="FILE",
            help="Results file: an interrupted audit is resumed by the same command. Without it "
            "predictions are not stored.",
        ),
    ] = None,
    drop: options.Drop = None,
    read: options.Read = None,
    report: options.Report = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE.csv", help="Write the measures of each source."),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE.tex", help="Write the table of sources for LaTeX."),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Estimate a model's performance at new sources and in the next period.

    Each source is left out of training in turn (internal-external validation).
    """
    del debug
    *models, data = files
    check_data(data)
    from ensemblage.datasets import open_dataset
    from ensemblage.studies import ResultStore, audit, check_method_name

    check_outputs(
        Output("--report", report, "page"), Output("--csv", csv, "text"),
        Output("--latex", latex, "text"), Output("--results", results), inputs=files, force=force,
    )  # fmt: skip
    if models and method is not None:
        raise ValueError("Name a model file or `method`, not both.")
    check_method_name(method or AUTO)
    audited: Any = method or AUTO
    if models:
        audited = load_model(Path(models[0]))
        target = target or audited.target
        task = task or ("classification" if audited.classes else "regression")
    dataset = open_dataset(
        data, target, drop=drop or (), source_column=source, options=read_options(read), task=task
    )
    with ExitStack() as stack:
        store = None if results is None else stack.enter_context(ResultStore(results))
        progress = stack.enter_context(
            progress_bar("Auditing", results=results, unit="fit", compiles=True)
        )
        document = audit(
            dataset, audited, time=time, threshold=threshold, event=event, interval=interval,
            learning_curve=learning_curve, name=Path(models[0]).name if models else "",
            n_splits=folds, seed=seed, n_jobs=jobs, store=store, progress=progress,
        )  # fmt: skip
    if as_json:
        show_json(document)
    else:
        _show(document)
    for text in dataset.notes if document.data is None else document.data.notes:
        note(text)
    _write(document, csv, latex)
    if report is not None:
        write_page(report, document)


def _show(document: AuditDocument) -> None:
    what = count(len(document.sources), "source") if document.sources else "over time"
    say(f"{document.dataset}: {document.label}, {what}\n")
    for sentence in document.sentences:
        say(sentence)
    summary = document.summary_table()
    show_block(summary)
    say(summary.legend)
    show_block(document.table())


def _write(document: AuditDocument, csv: Path | None, latex: Path | None) -> None:
    from ensemblage.persistence import write_atomically

    for path, make in ((csv, document.to_csv), (latex, document.to_latex)):
        if path is not None:
            write_atomically(path, make())
            say(f"Table written to {path}.", stderr=True)
