"""The command ``ensemblage fit``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ensemblage._core import count, listing
from ensemblage.cli._console import (
    check_data,
    check_outputs,
    data_name,
    guarded,
    note,
    progress_bar,
    say,
    show_json,
    show_reason,
)
from ensemblage.cli._options import (
    METHOD_NAMES,
    NUMBER_METHOD_NAMES,
    DataDir,
    Debug,
    Drop,
    Folds,
    Jobs,
    Json,
    Read,
    Rows,
    Scheduler,
    Seed,
    Source,
    Target,
    Task,
    complete_method,
    read_options,
)
from ensemblage.evaluation import MEASURES

if TYPE_CHECKING:
    from ensemblage.datasets import Dataset
    from ensemblage.strata import StrataDescription
    from ensemblage.studies import Method, Trained, TrainingDocument


AUTO = "auto"


@guarded
def fit_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A CSV, TSV, ARFF, Parquet or Excel file, `-` for CSV from standard input, or the "
            "name of a dataset.",
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="MODEL.skops", help="Where to save the model."),
    ],
    target: Target = None,
    task: Task = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            autocompletion=complete_method,
            help=f"One of: {METHOD_NAMES}; for numbers: {NUMBER_METHOD_NAMES}.",
        ),
    ] = AUTO,
    folds: Folds = 5,
    source: Source = None,
    drop: Drop = None,
    rows: Rows = None,
    read: Read = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Train one model, print its cross-validated score and what it learned, and save it.

    A Parquet file of numbers that would take 256 MB or more is read in blocks by `--method strata`.
    """
    del debug
    check_data(data)
    from ensemblage.studies import check_method_name, in_blocks, is_large_parquet

    check_outputs(output)
    check_method_name(method)
    how = {"n_splits": folds, "seed": seed, "n_jobs": jobs, "scheduler": scheduler}
    options: dict[str, Any] = {"drop": drop or [], "task": task}
    if rows is None and in_blocks(method) and is_large_parquet(data):
        _check_blocks(data, target, {"--source": source, "--read": read})
        fitted = _fit_blocks(data, target, method, options | how)
    else:
        draw = None if rows is None else (rows, seed, True)
        options |= {"data_dir": data_dir, "options": read_options(read), "draw": draw}
        fitted = _fit_memory(data, target, method, options | {"source_column": source}, how)
    _finish(fitted, output, as_json)


class _Fitted(NamedTuple):
    """A model, rows to describe it by, and what to save and to say beside."""

    trained: Trained
    dataset: Dataset
    n_rows: int
    classes: dict[str, int]
    judged_on: str
    saved: dict[str, Any]


def _fit_memory(
    data: str, target: str | None, method: str, options: dict[str, Any], how: dict[str, Any]
) -> _Fitted:
    """Read the table, score on folds and fit on all rows."""
    from ensemblage.datasets import open_dataset
    from ensemblage.studies import get_method, memory_note, train

    large = memory_note(data, method) if options["draw"] is None else None
    if large is not None:
        note(large)
    dataset = open_dataset(data, target, **options)
    chosen = get_method(method, dataset.task.name)
    with progress_bar(f"Fitting {chosen.label}", compiles=chosen.ours) as progress:
        trained = train(dataset, method, **how, progress=progress)
    beside = _beside(chosen, dataset, options["drop"], options["source_column"])
    judged_on = f"over {trained.comparison.n_splits} folds"
    return _Fitted(
        trained, dataset, len(dataset.y), dataset.classes, judged_on, beside | {"X": dataset.X}
    )


def _check_blocks(data: str, target: str | None, asked: dict[str, Any]) -> None:
    """Refuse what takes all rows in memory."""
    from ensemblage.blocks import parquet_columns
    from ensemblage.datasets import TargetNotGivenError

    wrong = [name for name, given in asked.items() if given]
    if wrong:
        raise ValueError(
            f"{data} is read in blocks: leave {' and '.join(wrong)} out, or read some of its rows "
            "into memory by --rows."
        )
    if target is None:
        raise TargetNotGivenError(
            f"Name the column to predict by `target`. The columns are: "
            f"{listing(parquet_columns(data))}."
        )


def _fit_blocks(data: str, target: Any, method: str, options: dict[str, Any]) -> _Fitted:
    """Fit to rows where they are, and score on some that were held out."""
    from ensemblage.studies import train_file

    with progress_bar(f"Fitting {method} to blocks of {data_name(data)}", compiles=True):
        found = train_file(data, target, method, **options)
    judged_on = f"on {len(found.held_out.y)} rows held out"
    ignored = {"ignored": [*options["drop"], *found.left_out]}
    return _Fitted(found.trained, found.held_out, found.n_rows, found.classes, judged_on, ignored)


def _finish(fitted: _Fitted, output: Path, as_json: bool) -> None:
    """Save the model, and tell what it is."""
    from msgspec import to_builtins
    from msgspec.structs import asdict

    from ensemblage.persistence import save
    from ensemblage.report import described_strata
    from ensemblage.studies import FitDocument

    trained, dataset = fitted.trained, fitted.dataset
    described = described_strata(
        trained.model, dataset.X, dataset.y, columns=dataset.feature_names, kinds=dataset.kinds
    )
    training = _training(fitted, described)
    noted = {} if described is None else {"strata": to_builtins(described)}
    save(
        trained.model, output, columns=dataset.feature_names, kinds=dataset.kinds,
        target=dataset.target, details=to_builtins(training) | noted, **fitted.saved,
    )  # fmt: skip
    if as_json:
        show_json(FitDocument(**asdict(training), model=str(output)))
    else:
        _show(fitted, training)
    for text in (*training.notes, *trained.warnings):
        note(text)
    say(f"Saved to {output}.", stderr=True)


def _beside(
    method: Method, dataset: Dataset, drop: list[str], source: str | None
) -> dict[str, Any]:
    """Tell columns that the model is told beside the rows from those that it never sees."""
    if source is None or dataset.sources is None:
        return {"ignored": drop}
    if "sources" in method.takes:
        return {"ignored": drop, "source": (source, dataset.sources)}
    return {"ignored": [*drop, source]}


def _training(fitted: _Fitted, described: StrataDescription | None) -> TrainingDocument:
    from ensemblage.report import training_summary
    from ensemblage.studies import TrainingDocument

    trained, dataset = fitted.trained, fitted.dataset
    (row,) = trained.comparison.summary
    return TrainingDocument(
        dataset=dataset.name,
        method=trained.method,
        n_rows=fitted.n_rows,
        classes=fitted.classes,
        folds=trained.comparison.n_splits,
        accuracy_se=row.accuracy_se,
        learned=tuple(training_summary(trained.fitted, dataset.feature_names, described)),
        notes=trained.comparison.notes,
        data=trained.comparison.data,
        task=trained.comparison.task,
        rmse_se=None if dataset.classes else row.score_se,
        deviation=None if dataset.classes else float(dataset.y.std()),
        **{name: row[name] for name in MEASURES},
    )


def _show(fitted: _Fitted, training: TrainingDocument) -> None:
    dataset, (row,) = fitted.dataset, fitted.trained.comparison.summary
    what = f"{len(training.classes)} classes" if training.classes else "numbers"
    say(
        f"{dataset.name}: {training.n_rows} rows, {count(len(dataset.feature_names), 'column')}, "
        f"{what} of {dataset.target!r}"
    )
    if training.data is not None:
        say(f"  {training.data.sentence}")
        show_reason(training.data)
    say(f"{row.label}: {_score(training, fitted.judged_on)}")
    for line in training.learned:
        say(f"  {line}")


def _score(training: TrainingDocument, over: str) -> str:
    """Tell the score on rows not seen, beside that of knowing nothing of a row."""
    # with a score on one fold only there is no standard error
    accuracy, rmse = training["accuracy"], training["rmse"]
    if accuracy is not None:
        share = max(training.classes.values()) / training.n_rows
        said = MEASURES["accuracy"].with_error(accuracy, training.accuracy_se, 4)
        return f"accuracy {said} {over} (the most frequent class alone: {share:.4f})"
    if rmse is not None and training.deviation is not None:
        said, alone = MEASURES["rmse"].with_error(rmse, training.rmse_se), training.deviation
        return f"RMSE {said} {over} (the mean alone: {MEASURES['rmse'].written(alone)})"
    return "no score, as the fits on the folds failed"
