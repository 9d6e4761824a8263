"""The command ``ensemblage explain``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_data,
    check_outputs,
    guarded,
    load_model,
    note,
    say,
    show_block,
    show_json,
    write_page,
)
from ensemblage.cli._options import PAGES, read_options

if TYPE_CHECKING:
    from ensemblage.persistence import SavedModel
    from ensemblage.report import Explanation


PICTURES = (".png", ".svg", ".pdf")


@guarded
def explain_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: options.ModelFile,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Rows to explain: a CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from "
            "standard input. Columns are matched by name.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Figure (.png, .svg or .pdf) of the network, of the features selected together, "
            "or of the strata with the rows of DATA; or a report (.html).",
        ),
    ] = None,
    report: options.Report = None,
    row: Annotated[
        int | None,
        typer.Option(
            "--row", min=0, metavar="N",
            help="Explain the prediction for one row of DATA (0: the first below the header): its "
            "strata, with reasons, and the contribution of each column.",
        ),
    ] = None,
    read: options.Read = None,
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Explain a model: its strata and members, network, features or coefficients.

    With `--row`, explain the prediction for one row.
    """
    del seed, jobs, debug
    check_data(data)
    from ensemblage.persistence import write_atomically
    from ensemblage.report import draws_rows, explain_model

    output, report = _sort_outputs(output, report)
    check_outputs(
        Output("--output", output, "figure"), Output("--report", report, "page"),
        inputs=[model, data], force=force,
    )  # fmt: skip
    saved = load_model(model)
    _check_usage(data, output if draws_rows(saved.model) else None, row)
    X, y, sources = (None, None, None) if data is None else _read_rows(data, saved, read)
    explained = explain_model(
        saved.model, X, y, sources=sources, columns=saved.columns, row=row, kinds=saved.kinds,
        details=saved.details,
    )  # fmt: skip
    if output is not None:
        write_atomically(output, explained.draw(output.suffix.lower().removeprefix(".")))
    if as_json:
        show_json(explained.document)
    else:
        _show(explained)
    if output is not None:
        say(f"Figure written to {output}.", stderr=True)
    if report is not None:
        from ensemblage.report import explanation_page

        page = explanation_page(
            explained, name=model.name, target=saved.target, details=saved.details
        )
        write_page(report, page)


def _sort_outputs(output: Path | None, report: Path | None) -> tuple[Path | None, Path | None]:
    """Treat an .html output as a report."""
    if output is None or output.suffix.lower() in PICTURES:
        return output, report
    if output.suffix.lower() in PAGES and report is not None:
        raise typer.BadParameter("--output and --report are both reports: omit one of them.")
    if output.suffix.lower() not in PAGES:
        raise typer.BadParameter(f"{output} must end in .png, .svg or .pdf, or .html for a report.")
    return None, output


def _check_usage(data: str | None, output: Path | None, row: int | None) -> None:
    if data is None and (output is not None or row is not None):
        option = "--output" if output is not None else "--row"
        raise typer.BadParameter(f"{option} needs DATA, the rows to explain.")


def _read_rows(data: str, saved: SavedModel, read: list[str] | None) -> tuple[Any, Any, Any]:
    """Read the model's columns, the target if it has no missing values, and the sources."""
    from ensemblage.datasets import is_missing
    from ensemblage.studies import read_rows

    target = saved.target
    X, table, notes, _, sources = read_rows(saved, data, options=read_options(read))
    for text in notes:
        note(text)
    if target is None or target not in table.names:
        return X, None, sources
    y = table.column(target)
    if is_missing(y).any() or (y.dtype.kind == "f") == bool(saved.classes):
        return X, None, sources
    return X, y.astype(str) if saved.classes else y, sources


def _show(explained: Explanation) -> None:
    for part in explained.text():
        if isinstance(part, str):
            say(part)
        else:
            show_block(part)
