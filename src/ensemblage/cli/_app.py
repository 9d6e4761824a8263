"""The commands."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from ensemblage import __version__
from ensemblage.cli._audit import audit_command
from ensemblage.cli._cluster import cluster_command
from ensemblage.cli._compare import compare_command
from ensemblage.cli._console import standard_streams
from ensemblage.cli._experiments import reproduce_command, run_command
from ensemblage.cli._explain import explain_command
from ensemblage.cli._fit import fit_command
from ensemblage.cli._others import datasets_command, doctor_command
from ensemblage.cli._predict import predict_command

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
