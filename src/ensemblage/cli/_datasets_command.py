"""``ensemblage datasets``: what is known, what is at hand, where it comes from."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from ensemblage.cli._console import guarded, say, show_json, show_table
from ensemblage.cli._options import DataDir, Debug, Json, UnusedJobs, UnusedSeed


@guarded
def datasets_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data_dir: DataDir = None,
    seed: UnusedSeed = 0,
    jobs: UnusedJobs = 1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List the datasets that can be used by name."""
    del seed, jobs, debug
    import msgspec

    from ensemblage.datasets import list_datasets

    known = list_datasets(data_dir)
    if as_json:
        show_json(msgspec.to_builtins(known))
        return
    columns = [
        ("name", "left"), ("rows", "right"), ("columns", "right"), ("at hand", "left"),
        ("comes from", "left"),
    ]  # fmt: skip
    rows = [
        [
            info.name, _count(info.n_rows), _count(info.n_features),
            "yes" if info.at_hand else "no", info.origin,
        ]
        for info in known
    ]  # fmt: skip
    show_table(columns, rows)
    say("What is not at hand is fetched when asked for; `openml:ID` names any dataset of OpenML.")


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)
