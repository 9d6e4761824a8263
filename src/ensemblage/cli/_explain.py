"""``ensemblage explain``: what a model is made of."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli._console import count, guarded, say, show_json, show_table
from ensemblage.cli._options import PAGES, Debug, Json, Report, UnusedJobs, UnusedSeed
from ensemblage.cli._page import check_page, explanation, write_page

if TYPE_CHECKING:
    from ensemblage.cli._page import Rows
    from ensemblage.explain import Explanation
    from ensemblage.persistence import SavedModel

PICTURES = (".png", ".svg", ".pdf")
# What would be printed as 0.0 % is no part.
SMALLEST_PART = 0.0005


@guarded
def explain_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.skops", show_default=False, help="A saved model.")
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Rows to look at: a CSV, TSV, ARFF or Parquet file, or `-` for CSV from standard "
            "input. Columns are matched by name.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Draw it (.png, .svg or .pdf): the network, the features chosen together, or a "
            "map of the strata and the rows of DATA. A name in .html is that of a report.",
        ),
    ] = None,
    report: Report = None,
    row: Annotated[
        int | None,
        typer.Option(
            "--row", min=0, metavar="N",
            help="Tell which strata and members decided about this row of DATA, counted from 0.",
        ),
    ] = None,
    seed: UnusedSeed = 0,
    jobs: UnusedJobs = 1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Show a model's strata and members, its network, or the features it chooses together."""
    del seed, jobs, debug
    from ensemblage.explain import model_kind
    from ensemblage.persistence import check_writable, load

    output, report = _sort_outputs(output, report)
    if output is not None:
        check_writable(output)
    check_page(report)
    saved = load(model)
    rows = None
    if model_kind(saved.model) == "strata":
        _check_usage(data, output, row)
        rows = None if data is None else _read_rows(data, saved)
        _explain_strata(saved, rows, output, row, as_json)
    else:
        _explain_structure(saved, output, as_json)
    if output is not None:
        say(f"Drawn in {output}.", stderr=True)
    if report is not None:
        write_page(report, "explanation_page", **explanation(saved, model.name, rows, row))


def _sort_outputs(output: Path | None, report: Path | None) -> tuple[Path | None, Path | None]:
    """Take a page that was named as the output for what it is."""
    if output is None or output.suffix.lower() in PICTURES:
        return output, report
    if output.suffix.lower() not in PAGES or report is not None:
        raise typer.BadParameter(f"{output} must end in .png, .svg or .pdf, or .html for a report.")
    return None, output


def _explain_structure(saved: SavedModel, output: Path | None, as_json: bool) -> None:
    """Show a network or a co-selection matrix."""
    from ensemblage.explain import draw_readable, model_kind, named_co_selection, named_parents
    from ensemblage.persistence import write_atomically

    if output is not None:
        kind = output.suffix.lower().removeprefix(".")
        write_atomically(output, draw_readable(saved.model, saved.columns, kind=kind))
    if model_kind(saved.model) == "network":
        parents = named_parents(saved.model, saved.columns)
        if as_json:
            show_json({"parents": parents})
            return
        say(f"A network of {count(len(parents), 'node')}.")
        rows = [[node, ", ".join(above) or "-"] for node, above in parents.items()]
        show_table([("node", "left"), ("depends on", "left")], rows)
        return
    names, matrix = named_co_selection(saved.model, saved.columns)
    if as_json:
        show_json({"features": names, "co_selection": matrix.tolist()})
        return
    say("Share of the members that use both features, and on the diagonal each.")
    rows = [
        [name, *(f"{each:.0%}" for each in row)] for name, row in zip(names, matrix, strict=True)
    ]
    numbers = [(str(d + 1), "right") for d in range(len(names))]
    numbered = [[f"{d + 1} {row[0]}", *row[1:]] for d, row in enumerate(rows)]
    show_table([("feature", "left"), *numbers], numbered)


def _explain_strata(
    saved: SavedModel, rows: Rows | None, output: Path | None, row: int | None, as_json: bool
) -> None:
    """Show strata and members, or one row's way through them."""
    from ensemblage.explain import draw_strata, explain_model, explain_row, plain_explanation
    from ensemblage.persistence import write_atomically

    X, y = rows or (None, None)
    facts = explain_model(saved.model, X)
    story = None if row is None else explain_row(saved.model, X, row)
    if output is not None:
        kind = output.suffix.lower().removeprefix(".")
        write_atomically(output, draw_strata(saved.model, X, y, kind=kind))
    if as_json:
        show_json(plain_explanation(facts) if story is None else story)
    elif story is None:
        _show_members(facts)
    else:
        _show_row(story)


def _check_usage(data: str | None, output: Path | None, row: int | None) -> None:
    if data is None and (output is not None or row is not None):
        option = "--output" if output is not None else "--row"
        raise typer.BadParameter(f"{option} needs DATA: the rows to look at.")


def _read_rows(data: str, saved: SavedModel) -> Rows:
    """Read the model's columns, and the classes if they are there and complete."""
    from ensemblage.datasets import align_table, read_table

    kinds = dict(zip(saved.columns, saved.kinds, strict=True))
    table = read_table(data, kinds=kinds | dict.fromkeys([saved.target], "word"))
    known = saved.target in table.names and None not in table.column(saved.target).tolist()
    y = table.column(saved.target).astype(str) if known else None
    return align_table(table, saved.columns, saved.target), y


def _show_members(facts: Explanation) -> None:
    size = "" if facts.stratum_size is None else f", each {facts.stratum_size:.0%} of the rows"
    say(f"{facts.n_strata} strata by {facts.stratifier}{size}; fused by {facts.fusion}")
    members = facts.members
    columns = {
        "stratum": [each.member for each in members],
        "member": ["constant" if len(each.classes) == 1 else each.estimator for each in members],
        "rows": [str(each.n_rows) for each in members],
        "classes": [_classes(each.classes) for each in members],
        "weight": [_share(each.weight) for each in members],
        "accuracy": [_number(each.score) for each in members],
        "closest": [_share(each.closest) for each in members],
    }
    legend = {
        "weight": "share in the fusion",
        "accuracy": "on rows of the stratum that the member had not seen",
        "closest": f"share of the {facts.rows} rows whose strongest stratum it is",
    }
    # a gate has no weights but per row, and an in-sample fusion no held-out score
    columns = {name: cells for name, cells in columns.items() if set(cells) != {"-"}}
    aligned = [(name, "right" if name == "rows" or name in legend else "left") for name in columns]
    show_table(aligned, [list(cells) for cells in zip(*columns.values(), strict=True)])
    say("; ".join(f"{name}: {text}" for name, text in legend.items() if name in columns))


def _show_row(story: dict[str, Any]) -> None:
    say(f"Row {story['row']}: predicted {story['prediction']}")
    columns = [("stratum", "left"), ("membership", "right"), ("weight", "right")]
    columns += [(label, "right") for label in story["classes"]]
    # who weighs most, or else is closest, stands first
    members = sorted(
        story["members"], key=lambda each: (-(each["weight"] or 0), -(each["membership"] or 0))
    )
    shown = [each for each in members if _has_part(each)]
    rows = [
        [each["member"], _number(each["membership"]), _share(each["weight"])]
        + [f"{value:.3f}" for value in each["outputs"]]
        for each in shown
    ]
    rows.append(["fused", "", "", *(f"{value:.3f}" for value in story["scores"])])
    show_table(columns, rows)
    say("weight: the member's share in this decision; then what it says of each class")
    if len(shown) < len(members):
        say(f"Left out: {count(len(members) - len(shown), 'member')} without a part in it.")


def _has_part(member: dict[str, Any]) -> bool:
    weight, membership = member["weight"], member["membership"]
    return weight is None or weight >= SMALLEST_PART or (membership or 0) >= SMALLEST_PART


def _classes(labels: list[str]) -> str:
    only = " only" if len(labels) == 1 else ""
    return f"{', '.join(labels)}{only}" if len(labels) <= 4 else str(len(labels))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
