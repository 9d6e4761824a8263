"""``ensemblage reproduce``: a paper's table, with our own figures beside it."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from ensemblage.cli._console import guarded, progress_bar, say, show_json, show_table
from ensemblage.cli._options import DataDir, Debug, Jobs, Json, Seed


class PaperTable(StrEnum):
    """Tables that can be reproduced."""

    hiss_table2 = "hiss-table2"
    hiss_table3 = "hiss-table3"


@guarded
def reproduce_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    name: Annotated[PaperTable, typer.Argument(help="Which table.", show_default=False)],
    *,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this row of the table (may be repeated)."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Random splits per entry.")] = 10,
    data_dir: DataDir = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the experiments behind a paper's table; print the paper's figures beside ours."""
    del debug
    from ensemblage.experiments import HISS_NOTES, reproduce_hiss

    with progress_bar(f"Reproducing {name.value}") as progress:
        rows = reproduce_hiss(
            name.value, datasets=dataset, n_repeats=repeats, seed=seed, data_dir=data_dir,
            n_jobs=jobs, progress=progress,
        )  # fmt: skip
    if as_json:
        show_json({"table": name.value, "rows": [asdict(row) for row in rows], "notes": HISS_NOTES})
        return
    columns = [
        ("dataset", "left"), ("method", "left"), ("paper", "right"), ("ours", "right"),
        ("difference", "right"),
    ]  # fmt: skip
    cells = []
    for row in rows:
        spread = "" if row.standard_error is None else f" ± {row.standard_error:.4f}"
        paper = "-" if row.paper is None else f"{row.paper:.3f}"
        apart = row.paper is None or row.stand_in
        difference = "-" if apart else f"{row.ours - row.paper:+.4f}"
        cells.append([row.dataset, row.method, paper, f"{row.ours:.4f}{spread}", difference])
    say(f"Classification error, {repeats} random splits, seed {seed}; ± is a standard error.")
    show_table(columns, cells)
    for text in HISS_NOTES:
        say(f"- {text}")
