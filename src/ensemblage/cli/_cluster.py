"""The ``ensemblage cluster`` command."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_data,
    check_outputs,
    csv_text,
    data_name,
    guarded,
    note,
    say,
    show_json,
    show_table,
    write_page,
)
from ensemblage.cli._options import read_options

if TYPE_CHECKING:
    import numpy as np

    from ensemblage.datasets import Table
    from ensemblage.studies import Clustering, ClusteringDocument


# Written out, as the registry imports scikit-learn; a test keeps the two together.
CLUSTER_NAMES = "inner, inner-paper, average, mcla, hbgf, cspa, hgpa"
# Most columns shown in the terminal.
MAX_COLUMNS = 60
SCORES = {
    "nmi": "Normalised mutual information (NMI)",
    "purity": "Purity",
}


@guarded
def cluster_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: options.DataFile,
    *,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", "-k", min=1, metavar="K",
            help="Number of clusters; by default chosen by stability against a null reference.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="METHOD", help=f"One of: {CLUSTER_NAMES}.")
    ] = "inner",
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN",
            help="Column to exclude and to compare the clusters with (NMI, purity).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="CSV file for the cluster labels."),
    ] = None,
    report: options.Report = None,
    drop: options.Drop = None,
    read: options.Read = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    scheduler: options.Scheduler = None,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Cluster rows by Inner K-means or consensus clustering, and show the prototypes."""
    del debug
    check_data(data)

    from ensemblage.datasets import column_notes, read_table
    from ensemblage.studies import cluster, is_large_parquet

    check_outputs(
        Output("--output", output, "text"), Output("--report", report, "page"), inputs=[data],
        force=force,
    )  # fmt: skip
    table = None
    if scheduler is not None or (method.startswith("inner") and is_large_parquet(data)):
        asked = {"--clusters": clusters is None, "--report": report is not None, "--read": read}
        _check_blocks(data, {name for name, wrong in asked.items() if wrong})
    else:
        table = read_table(data, options=read_options(read))
    with (
        warnings.catch_warnings(record=True) as caught,
        _label_file(output if table is None else None) as write,
    ):
        warnings.simplefilter("always")
        found = cluster(
            data if table is None else table, clusters, method=method, target=target,
            drop=drop or (), write=write, scheduler=scheduler, n_jobs=jobs, seed=seed,
        )  # fmt: skip
    if output is not None:
        if table is not None:
            _write_labels(output, found)
        say(f"{found.n_rows} labels written to {output}.", stderr=True)
    document = _document(found, output, table, data_name(data))
    notes = [] if table is None else [*table.notes, *column_notes(table.select([*found.columns]))]
    notes += dict.fromkeys(str(each.message) for each in caught)
    if report is not None and table is not None:
        _write_report(report, document, table, found, notes)
    if as_json:
        show_json(document)
    else:
        _show(found)
    for text in notes:
        note(text)
    if table is None and target is not None:
        note(
            f"Column {target!r} is excluded. NMI and purity are not computed: they need all "
            "rows in memory."
        )


def _check_blocks(data: str, wrong: set[str]) -> None:
    """Raise on options that need all rows in memory."""
    from ensemblage.datasets import is_parquet

    if not is_parquet(data):
        raise ValueError(
            f"{data} is not a Parquet file, and Dask workers read only Parquet: convert it, or "
            "omit --scheduler."
        )
    if "--clusters" in wrong:
        raise ValueError(
            f"{data} is read in blocks, and choosing the number of clusters needs all rows in "
            "memory: set --clusters K."
        )
    if wrong:
        raise ValueError(f"{data} is read in blocks: omit {' and '.join(sorted(wrong))}.")


@contextmanager
def _label_file(output: Path | None) -> Iterator[Any]:
    """Open a CSV file to write labels block by block; None without ``output``."""
    if output is None:
        yield None
        return
    from ensemblage.persistence import open_atomically

    with open_atomically(output) as file:
        file.write(csv_text(["cluster", "agreement"], []).encode())
        yield lambda labels, agreement: file.write(_lines(labels, agreement).encode())


def _write_labels(output: Path, found: Clustering) -> None:
    from ensemblage.persistence import write_atomically

    labels: Any = found.labels
    if found.agreement is None:
        text = csv_text(["cluster"], [[label] for label in labels.tolist()])
    else:
        text = csv_text(["cluster", "agreement"], []) + _lines(labels, found.agreement)
    write_atomically(output, text)


def _lines(labels: np.ndarray, agreement: np.ndarray) -> str:
    pairs = zip(labels.tolist(), agreement.tolist(), strict=True)
    return "".join(f"{label},{share:.4g}\n" for label, share in pairs)


def _write_report(
    report: Path,
    document: ClusteringDocument,
    table: Table,
    found: Clustering,
    notes: list[str],
) -> None:
    from ensemblage.report import clustering_page
    from ensemblage.studies import CLUSTER_METHODS

    kinds = dict(zip(table.names, table.kinds, strict=True))
    numeric = {name: table.column(name) for name in found.columns if kinds[name] == "numeric"}
    name = "" if document.data is None else document.data.name
    label = CLUSTER_METHODS[found.method]
    write_page(
        report, clustering_page(document, name=name, label=label, columns=numeric, notes=notes)
    )


def _document(
    found: Clustering, output: Path | None, table: Table | None, name: str
) -> ClusteringDocument:
    from ensemblage.datasets import DataSummary
    from ensemblage.studies import ClusteringDocument

    summary = None
    if table is not None:
        summary = DataSummary.of_table(table.select(list(found.columns)), name)
    return ClusteringDocument(
        method=found.method,
        clusters=len(found.prototypes),
        labels=[] if found.labels is None else found.labels.tolist(),
        agreement=None if found.agreement is None else found.agreement.tolist(),
        prototypes=found.prototypes,
        scores=found.scores,
        output=None if output is None else str(output),
        data=summary,
        reason=found.reason,
    )


def _show(found: Clustering) -> None:
    from ensemblage.studies import CLUSTER_METHODS

    columns, shown = found.columns, found.columns[:MAX_COLUMNS]
    say(
        f"{CLUSTER_METHODS[found.method]}: {found.n_rows} rows, {len(columns)} columns, "
        f"{len(found.prototypes)} clusters"
    )
    if found.reason is not None:
        say(found.reason)
    show_table(
        [(name, "right") for name in ("cluster", "rows", *shown)],
        [
            [str(each.cluster), str(each.rows), *(_field(each.typical[name]) for name in shown)]
            for each in found.prototypes
        ],
    )
    if len(columns) > len(shown):
        say(f"{len(columns) - len(shown)} more columns; use --json for all.")
    if found.mean_agreement is not None:
        say(f"Mean agreement of the views on a row's cluster: {found.mean_agreement:.0%}")
    for name, score in found.scores.items():
        say(f"{SCORES.get(name, name)} against the target: {score:.4f}")


def _field(value: float | str | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
