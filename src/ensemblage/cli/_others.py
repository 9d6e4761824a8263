"""The commands ``ensemblage audit``, ``datasets`` and ``doctor``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ensemblage._core import count, listed
from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_outputs,
    guarded,
    note,
    progress_bar,
    say,
    show_block,
    show_json,
    show_table,
    write_page,
)
from ensemblage.cli._options import METHOD_NAMES, complete_method, read_options

if TYPE_CHECKING:
    from ensemblage.studies import DoctorDocument


@guarded
def audit_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: options.DataFile,
    *,
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="COLUMN", help="The column with each row's source (site, hospital)."
        ),
    ],
    target: options.Target = None,
    task: options.Task = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", metavar="METHOD", autocompletion=complete_method,
            help=f"The model to audit; the source is not a feature. One of: {METHOD_NAMES}.",
        ),
    ] = "boosting",
    folds: options.Folds = 5,
    drop: options.Drop = None,
    read: options.Read = None,
    report: options.Report = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Estimate a classifier's performance at new sources (leave-source-out validation)."""
    del debug
    from ensemblage.datasets import open_dataset
    from ensemblage.studies import audit

    check_outputs(Output("--report", report, "page"), inputs=[data], force=force)
    dataset = open_dataset(
        data, target, drop=drop or (), source_column=source, options=read_options(read), task=task
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
        write_page(report, document)


@guarded
def datasets_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data_dir: options.DataDir = None,
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List the datasets that are known by name."""
    del seed, jobs, debug
    import msgspec

    from ensemblage.datasets import list_datasets

    known = list_datasets(data_dir)
    if as_json:
        show_json(msgspec.to_builtins(known))
        return
    columns = [
        ("name", "left"), ("rows", "right"), ("columns", "right"), ("available", "left"),
        ("origin", "left"),
    ]  # fmt: skip
    rows = [
        [
            info.name, _count(info.n_rows), _count(info.n_features),
            "yes" if info.available else "no", info.origin,
        ]
        for info in known
    ]  # fmt: skip
    show_table(columns, rows)
    say("Other datasets are downloaded when they are used; `openml:ID` names any OpenML dataset.")


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


@guarded
def doctor_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show versions, cores, cache and extras, and test the installation."""
    del seed, jobs, debug
    from ensemblage.studies import examine

    found = examine()
    if as_json:
        show_json(found)
    else:
        _show(found)
    if not found.healthy:
        raise typer.Exit(1)


def _show(found: DoctorDocument) -> None:
    versions = found.versions.items()
    say(", ".join(f"{name} {version or 'not installed'}" for name, version in versions))
    threads = found.blas_threads
    blas = "" if threads is None else f", {count(threads, 'BLAS thread')}"
    say(f"{count(found.cores, 'core')}{blas}")
    say(f"cache of compiled kernels: {found.cache or 'none'}")
    rows = [
        [extra.name, "yes" if not extra.missing else f"no: {listed(extra.missing)}", extra.install]
        for extra in found.extras
    ]
    show_table([("extra", "left"), ("installed", "left"), ("install command", "left")], rows)
    for test in found.tests:
        say(f"{test.name}: {test.error or 'OK'} ({test.seconds:.1f} s)")
    if not found.cache_writable:
        note(
            "the cache of compiled kernels is not writable, so every process compiles again; set "
            "NUMBA_CACHE_DIR to a writable folder."
        )
    say("OK: all tests passed." if found.healthy else "Some tests failed: see above.")
