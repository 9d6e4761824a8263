"""The command ``ensemblage cluster``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli._console import (
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
from ensemblage.cli._options import (
    Debug,
    Drop,
    Jobs,
    Json,
    Read,
    Report,
    Scheduler,
    Seed,
    read_options,
)

if TYPE_CHECKING:
    import numpy as np

    from ensemblage.datasets import DataSummary, Table
    from ensemblage.studies import Clustering, ClusteringDocument, Prototype


# Written out, as the registry imports scikit-learn; a test keeps the two together.
CLUSTER_NAMES = "inner, inner-paper, average, mcla, hbgf, cspa, hgpa"
MOST_COLUMNS = 60
SCORES = {
    "nmi": "agreement (normalised mutual information, 1 is best)",
    "purity": "agreement (share of rows in their cluster's most frequent class)",
}


@guarded
def cluster_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from standard input.",
        ),
    ],
    *,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", "-k", min=1, metavar="K",
            help="Number of clusters; if left out, the one at which clusterings are steadiest.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="METHOD", help=f"One of: {CLUSTER_NAMES}.")
    ] = "inner",
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN",
            help="A column to leave out and to compare the clusters with.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Where to write a label per row."),
    ] = None,
    report: Report = None,
    drop: Drop = None,
    read: Read = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Put rows into clusters by Inner K-means or a consensus, and show their prototypes."""
    del debug
    check_data(data)

    from ensemblage.datasets import DataSummary, column_notes, read_table
    from ensemblage.persistence import write_atomically
    from ensemblage.studies import CLUSTER_METHODS, cluster_table, is_large_parquet

    check_outputs(output, report)
    if scheduler is not None or (method.startswith("inner") and is_large_parquet(data)):
        asked = {"--clusters": clusters is None, "--report": report is not None, "--read": read}
        _check_blocks(data, {name for name, wrong in asked.items() if wrong})
        left = (*(drop or ()), *(() if target is None else (target,)))
        options: dict[str, Any] = {"method": method, "drop": left, "seed": seed}
        _cluster_blocks(data, clusters, output, as_json, options | {"scheduler": scheduler})
        if target is not None:
            note(f"The column {target!r} is left out, and not compared with: that takes memory.")
        return
    table = read_table(data, options=read_options(read))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cluster_table(
            table, clusters, method=method, target=target, drop=tuple(drop or ()), seed=seed,
            n_jobs=jobs,
        )  # fmt: skip
    if output is not None:
        write_atomically(output, _csv_text(found))
        say(f"{len(found.labels)} labels written to {output}.", stderr=True)
    seen = table.select(list(found.columns))
    card = DataSummary.of_table(seen, data_name(data))
    warned = dict.fromkeys(str(each.message) for each in caught)
    said = [*table.notes, *column_notes(seen), *warned]
    if report is not None:
        from ensemblage.report import clustering_page

        page = clustering_page(
            _document(found, output, card), name=data_name(data),
            label=CLUSTER_METHODS[method], columns=_numbers(table, found), notes=said,
        )  # fmt: skip
        write_page(report, page)
    if as_json:
        show_json(_document(found, output, card))
    else:
        _show(found)
    for text in said:
        note(text)


def _check_blocks(data: str, wrong: set[str]) -> None:
    """Refuse what takes all rows in memory."""
    from ensemblage.datasets import is_parquet

    if not is_parquet(data):
        raise ValueError(
            f"{data} is no Parquet file, which is what workers of a cluster read: save it as one, "
            "or leave --scheduler out."
        )
    if "--clusters" in wrong:
        raise ValueError(
            f"{data} is read in blocks, and the number of clusters is chosen on rows in memory: "
            "give it, --clusters K."
        )
    if wrong:
        raise ValueError(f"{data} is read in blocks: leave {' and '.join(sorted(wrong))} out.")


def _cluster_blocks(
    data: str, clusters: Any, output: Path | None, as_json: bool, options: dict[str, Any]
) -> None:
    """Cluster rows where they are, and write labels as they come."""
    from ensemblage.persistence import open_atomically
    from ensemblage.studies import ClusteringDocument, cluster_file

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if output is None:
            found = cluster_file(data, clusters, **options)
        else:
            with open_atomically(output) as file:
                file.write(csv_text(["cluster", "agreement"], []).encode())
                found = cluster_file(
                    data, clusters, **options, write=lambda *own: file.write(_lines(*own))
                )
            say(f"{found.n_rows} labels written to {output}.", stderr=True)
    if as_json:
        show_json(
            ClusteringDocument(
                method=found.method, clusters=len(found.prototypes), labels=[], agreement=None,
                prototypes=found.prototypes, scores={},
                output=None if output is None else str(output),
            )
        )  # fmt: skip
    else:
        _show_prototypes(found.method, found.n_rows, found.columns, found.prototypes)
        say(f"Views agree with a row's cluster in {found.agreement:.0%} of votes on average.")
    for text in dict.fromkeys(str(each.message) for each in caught):
        note(text)


def _lines(labels: np.ndarray, agreement: np.ndarray) -> bytes:
    pairs = zip(labels.tolist(), agreement.tolist(), strict=True)
    return "".join(f"{label},{share:.4g}\n" for label, share in pairs).encode()


def _numbers(table: Table, found: Clustering) -> dict[str, np.ndarray]:
    kinds = dict(zip(table.names, table.kinds, strict=True))
    return {name: table.column(name) for name in found.columns if kinds[name] == "numeric"}


def _csv_text(found: Clustering) -> str:
    labels = found.labels.tolist()
    if found.agreement is None:
        return csv_text(["cluster"], [[label] for label in labels])
    shares = found.agreement.tolist()
    rows = [[label, f"{share:.4g}"] for label, share in zip(labels, shares, strict=True)]
    return csv_text(["cluster", "agreement"], rows)


def _document(found: Clustering, output: Path | None, card: DataSummary) -> ClusteringDocument:
    from ensemblage.studies import ClusteringDocument

    return ClusteringDocument(
        method=found.method,
        clusters=len(found.prototypes),
        labels=found.labels.tolist(),
        agreement=None if found.agreement is None else found.agreement.tolist(),
        prototypes=found.prototypes,
        scores=found.scores,
        output=None if output is None else str(output),
        data=card,
        reason=found.reason,
    )


def _show_prototypes(
    method: str,
    n_rows: int,
    columns: tuple[str, ...],
    prototypes: list[Prototype],
    reason: str | None = None,
) -> None:
    from ensemblage.studies import CLUSTER_METHODS

    say(
        f"{CLUSTER_METHODS[method]}: {n_rows} rows in {len(prototypes)} clusters by "
        f"{len(columns)} columns"
    )
    if reason is not None:
        say(reason)
    shown = columns[:MOST_COLUMNS]
    heads = [(name, "right") for name in ("cluster", "rows", *shown)]
    show_table(
        heads,
        [
            [str(each.cluster), str(each.rows), *(_field(each.typical[name]) for name in shown)]
            for each in prototypes
        ],
    )
    if len(columns) > len(shown):
        say(f"{len(columns) - len(shown)} more columns; --json shows all.")


def _show(found: Clustering) -> None:
    _show_prototypes(found.method, len(found.labels), found.columns, found.prototypes, found.reason)
    if found.agreement is not None:
        say(
            f"Views agree with a row's cluster in {found.agreement.mean():.0%} of votes on average."
        )
    for name, score in found.scores.items():
        say(f"{SCORES.get(name, name)} with the target: {score:.4f}")


def _field(value: float | str | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
