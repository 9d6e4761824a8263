"""The commands, of which `datasets` and `doctor` stand here."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Annotated

import typer

from ensemblage import __version__
from ensemblage._core import count, listed
from ensemblage.cli import _options as options
from ensemblage.cli._adapt import adapt_command, recalibrate_command
from ensemblage.cli._audit import audit_command
from ensemblage.cli._cluster import cluster_command
from ensemblage.cli._compare import compare_command
from ensemblage.cli._console import guarded, note, say, show_json, show_table, standard_streams
from ensemblage.cli._experiments import reproduce_command, run_command
from ensemblage.cli._explain import explain_command
from ensemblage.cli._fit import fit_command
from ensemblage.cli._predict import predict_command

if TYPE_CHECKING:
    from ensemblage.studies import DoctorDocument


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


app = typer.Typer(
    name="ensemblage",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)
app.command("compare")(compare_command)
app.command("fit")(fit_command)
app.command("predict")(predict_command)
app.command("explain")(explain_command)
app.command("audit")(audit_command)
app.command("adapt")(adapt_command)
app.command("recalibrate")(recalibrate_command)
app.command("cluster")(cluster_command)
app.command("run")(run_command)
app.command("reproduce")(reproduce_command)
app.command("datasets")(datasets_command)
app.command("doctor")(doctor_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ensemblage {__version__}")
        raise typer.Exit


@app.callback(
    help="Models for data from several places (hospitals, sites, sensors): compare, fit, explain, "
    "and validate at a new place.\n\nStart with `ensemblage compare`: without a file it runs on a "
    "bundled dataset."
)
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    del version


def run() -> None:
    """Parse the arguments and run a command."""
    gc.disable()  # faster imports; `begin_work` enables it again
    with standard_streams():
        app(prog_name="ensemblage")
