"""``ensemblage fit``: train one model and save it."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli._console import (
    check_data,
    check_outputs,
    guarded,
    note,
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
    Scheduler,
    Seed,
    Source,
    Target,
    Task,
    as_reading,
    complete_method,
)
from ensemblage.cli._progress import progress_bar
from ensemblage.messages import MEASURES, count

if TYPE_CHECKING:
    from ensemblage.datasets import Dataset
    from ensemblage.methods import Method, Trained, TrainingDocument
    from ensemblage.strata import StrataDescription


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
    read: Read = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Train one model, print its cross-validated score and what it learned, and save it."""
    del debug
    check_data(data)
    from msgspec import to_builtins
    from msgspec.structs import asdict

    from ensemblage.datasets import open_dataset
    from ensemblage.explain import described_strata
    from ensemblage.methods import FitDocument, check_method_name, get_method, train
    from ensemblage.persistence import save

    check_outputs(output)
    check_method_name(method)
    dataset = open_dataset(
        data, target, data_dir=data_dir, drop=drop or (), source_column=source,
        reading=as_reading(read), task=task,
    )  # fmt: skip
    chosen = get_method(method, dataset.task.name)
    with progress_bar(f"Fitting {chosen.label}", compiles=chosen.ours) as progress:
        trained = train(
            dataset, method, n_splits=folds, seed=seed, n_jobs=jobs, scheduler=scheduler,
            progress=progress,
        )  # fmt: skip
    described = described_strata(
        trained.model, dataset.X, dataset.y, columns=dataset.feature_names, kinds=dataset.kinds
    )
    training = _training(dataset, trained, described)
    noted = {} if described is None else {"strata": to_builtins(described)}
    save(
        trained.model, output, columns=dataset.feature_names, kinds=dataset.kinds,
        target=dataset.target, **_beside(chosen, dataset, drop or [], source),
        X=dataset.X, details=to_builtins(training) | noted,
    )  # fmt: skip
    if as_json:
        show_json(FitDocument(**asdict(training), model=str(output)))
    else:
        _show(dataset, training, chosen.label)
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


def _training(
    dataset: Dataset, trained: Trained, described: StrataDescription | None
) -> TrainingDocument:
    from ensemblage.explain import what_was_learned
    from ensemblage.methods import TrainingDocument

    (row,) = trained.comparison.summary
    return TrainingDocument(
        dataset=dataset.name,
        method=trained.method,
        n_rows=len(dataset.y),
        classes=dataset.classes,
        folds=trained.comparison.n_splits,
        accuracy=row.accuracy,
        accuracy_se=row.accuracy_se,
        balanced_accuracy=row.balanced_accuracy,
        learned=tuple(what_was_learned(trained.fitted, dataset.feature_names, described)),
        notes=trained.comparison.notes,
        data=trained.comparison.data,
        task=trained.comparison.task,
        rmse=row.rmse,
        rmse_se=None if dataset.classes else row.score_se,
        mae=row.mae,
        r2=row.r2,
        deviation=None if dataset.classes else float(dataset.y.std()),
    )


def _show(dataset: Dataset, training: TrainingDocument, label: str) -> None:
    what = f"{len(training.classes)} classes" if training.classes else "numbers"
    say(
        f"{dataset.name}: {training.n_rows} rows, {count(len(dataset.feature_names), 'column')}, "
        f"{what} of {dataset.target!r}"
    )
    if training.data is not None:
        say(f"  {training.data.sentence}")
        show_reason(training.data)
    say(f"{label}: {_score(training)}")
    for line in training.learned:
        say(f"  {line}")


def _score(training: TrainingDocument) -> str:
    """Tell the score on the folds, beside that of knowing nothing of a row."""
    over = f"over {training.folds} folds"
    # with a score on one fold only there is no standard error
    if training.accuracy is not None:
        share = max(training.classes.values()) / training.n_rows
        said = MEASURES["accuracy"].with_error(training.accuracy, training.accuracy_se, 4)
        return f"accuracy {said} {over} (the most frequent class alone: {share:.4f})"
    if training.rmse is not None and training.deviation is not None:
        said = MEASURES["rmse"].with_error(training.rmse, training.rmse_se)
        return (
            f"RMSE {said} {over} (the mean alone: {MEASURES['rmse'].written(training.deviation)})"
        )
    return "no score, as the fits on the folds failed"
