"""The command ``ensemblage fit``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage._core import count, listing
from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
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
    AUTO,
    METHOD_NAMES,
    REGRESSION_METHOD_NAMES,
    complete_method,
    read_options,
)
from ensemblage.evaluation import MEASURES

if TYPE_CHECKING:
    from ensemblage.studies import Trained, TrainingDocument


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
        typer.Option("--output", "-o", metavar="MODEL.skops", help="File for the model."),
    ],
    target: options.Target = None,
    task: options.Task = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            autocompletion=complete_method,
            help=f"Method. Classification: {METHOD_NAMES}. Regression: {REGRESSION_METHOD_NAMES}.",
        ),
    ] = AUTO,
    folds: options.Folds = 5,
    source: options.Source = None,
    drop: options.Drop = None,
    rows: options.Rows = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            parser=options.parse_time,
            help="Time limit of the pool's fit, such as 90s, 10m, 2h.",
        ),
    ] = None,
    read: options.Read = None,
    data_dir: options.DataDir = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    scheduler: options.Scheduler = None,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model, print its cross-validated score and a summary, and save it.

    `--method strata` reads a numeric Parquet file that would take 256 MB or more in blocks.
    """
    del debug
    check_data(data)
    from ensemblage.datasets import open_dataset
    from ensemblage.studies import (
        check_method_name,
        fits_blocks,
        get_method,
        is_large_parquet,
        memory_note,
        train,
    )

    check_outputs(
        Output("--output", output, "model"), inputs=[data], data_dir=data_dir, force=force
    )
    check_method_name(method)
    how: dict[str, Any] = {"n_splits": folds, "seed": seed, "n_jobs": jobs, "scheduler": scheduler}
    left_out = drop or []
    if rows is None and fits_blocks(method) and is_large_parquet(data):
        _check_blocks(data, target, {"--source": source, "--read": read, "--budget": budget})
        with progress_bar(f"Fitting {method} to blocks of {data_name(data)}", compiles=True):
            trained = train(data, method, target=target, drop=left_out, task=task, **how)
        saved: dict[str, Any] = {"ignored": [*left_out, *trained.left_out]}
    else:
        large = memory_note(data, method) if rows is None else None
        if large is not None:
            note(large)
        dataset = open_dataset(
            data, target, drop=left_out, task=task, data_dir=data_dir, options=read_options(read),
            draw=None if rows is None else (rows, seed, True), source_column=source,
        )  # fmt: skip
        chosen = get_method(method, dataset.task.name)
        with progress_bar(f"Fitting {chosen.label}", compiles=chosen.ours) as progress:
            trained = train(dataset, method, **how, time_budget=budget, progress=progress)
        saved = {"ignored": left_out, "X": dataset.X}
        if source and dataset.sources is not None:
            used = source if chosen.nests_sources else source[:1]
            if "sources" not in chosen.takes:
                used = []
            elif len(used) == 1:
                saved["source"] = (used[0], dataset.outer_sources)
            else:
                saved["source"] = (used, dataset.sources)
            saved["ignored"] = [*left_out, *source[len(used) :]]
    _save_and_show(trained, saved, output, as_json=as_json)


def _check_blocks(data: str, target: str | None, asked: dict[str, Any]) -> None:
    """Refuse options that need all rows in memory."""
    from ensemblage.blocks import parquet_columns
    from ensemblage.datasets import TargetNotGivenError

    wrong = [name for name, given in asked.items() if given]
    if wrong:
        raise ValueError(
            f"{data} is read in blocks, which does not support {' or '.join(wrong)}: read a sample "
            "of the rows into memory by --rows instead."
        )
    if target is None:
        raise TargetNotGivenError(
            f"Set `target` to the column to predict. The columns are: "
            f"{listing(parquet_columns(data))}."
        )


def _save_and_show(trained: Trained, saved: dict[str, Any], output: Path, *, as_json: bool) -> None:
    from msgspec import to_builtins
    from msgspec.structs import replace

    from ensemblage.persistence import save
    from ensemblage.report import described_strata, training_summary
    from ensemblage.studies import TrainingDocument

    dataset, comparison = trained.dataset, trained.comparison
    (row,) = comparison.summary
    scores: Any = {name: row[name] for name in MEASURES}
    described = described_strata(
        trained.model, dataset.X, dataset.y, columns=dataset.feature_names, kinds=dataset.kinds
    )
    training = TrainingDocument(
        dataset=dataset.name,
        method=trained.method.name,
        n_rows=trained.n_rows,
        classes=trained.classes,
        folds=comparison.n_splits,
        accuracy_se=row.accuracy_se,
        learned=tuple(training_summary(trained.fitted, dataset.feature_names, described)),
        notes=comparison.notes,
        data=comparison.data,
        task=comparison.task,
        rmse_se=None if dataset.classes else row.score_se,
        target_std=None if dataset.classes else float(dataset.y.std()),
        **scores,
    )
    noted = {} if described is None else {"strata": to_builtins(described)}
    save(
        trained.model, output, columns=dataset.feature_names, kinds=dataset.kinds,
        target=dataset.target, details=to_builtins(training) | noted, **saved,
    )  # fmt: skip
    if as_json:
        show_json(replace(training, model=str(output)))
    else:
        _show(trained, training)
    for text in dict.fromkeys((*training.notes, *trained.warnings)):
        note(text)
    say(f"Saved to {output}.", stderr=True)


def _show(trained: Trained, training: TrainingDocument) -> None:
    from ensemblage.studies import HOLDOUT_NOTE

    dataset = trained.dataset
    what = f"{len(training.classes)} classes" if training.classes else "regression"
    say(
        f"{dataset.name}: {training.n_rows} rows, {count(len(dataset.feature_names), 'column')}, "
        f"target {dataset.target!r} ({what})"
    )
    if training.data is not None:
        say(f"  {training.data.sentence}")
        show_reason(training.data)
    over = "holdout set" if HOLDOUT_NOTE in training.notes else f"{training.folds}-fold CV"
    if trained.held_out:
        over = f"{len(dataset.y)} held-out rows"
    # with a score on one fold only there is no standard error
    accuracy, rmse, measure = training["accuracy"], training["rmse"], MEASURES["rmse"]
    text = "no score, as all fits of the cross-validation failed"
    if accuracy is not None:
        share = max(training.classes.values()) / training.n_rows
        value = MEASURES["accuracy"].with_error(accuracy, training.accuracy_se, 4)
        text = f"accuracy {value} ({over}; majority class {share:.4f})"
    elif rmse is not None and training.target_std is not None:
        value = measure.with_error(rmse, training.rmse_se)
        text = f"RMSE {value} ({over}; predicting the mean {measure.written(training.target_std)})"
    say(f"{trained.method.label}: {text}")
    for line in training.learned:
        say(f"  {line}")
