"""``ensemblage audit``: what a model is worth on known sources, and on new ones."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from typing import Annotated

import typer

from ensemblage.cli._console import (
    check_outputs,
    guarded,
    note,
    say,
    show_block,
    show_json,
    write_page,
)
from ensemblage.cli._options import (
    METHOD_NAMES,
    Debug,
    Drop,
    Folds,
    Jobs,
    Json,
    Read,
    Report,
    Seed,
    Target,
    Task,
    as_reading,
    complete_method,
)
from ensemblage.cli._progress import progress_bar


@guarded
def audit_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from standard input.",
        ),
    ],
    *,
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="COLUMN", help="The column that tells where each row comes from."
        ),
    ],
    target: Target = None,
    task: Task = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", metavar="METHOD", autocompletion=complete_method,
            help=f"The model to audit; it does not see the source. One of: {METHOD_NAMES}.",
        ),
    ] = "boosting",
    folds: Folds = 5,
    drop: Drop = None,
    read: Read = None,
    report: Report = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Tell what to expect on a new source, and what each source is like."""
    del debug
    from ensemblage.datasets import open_dataset
    from ensemblage.methods import audit

    check_outputs(report)
    dataset = open_dataset(
        data, target, drop=drop or (), source_column=source, reading=as_reading(read), task=task
    )
    with progress_bar("Auditing") as progress:
        document = audit(dataset, method, n_splits=folds, seed=seed, n_jobs=jobs, progress=progress)
    if as_json:
        show_json(document)
    else:
        say(f"{dataset.name}: {document.label}, {len(document.audit.sources)} sources\n")
        for sentence in document.sentences:
            say(sentence)
        table = document.audit.table()
        show_block(table)
        say(table.legend)
    for text in dataset.notes:
        note(text)
    if report is not None:
        from ensemblage.report import audit_page

        write_page(report, audit_page(document))
