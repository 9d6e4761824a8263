"""Shared tables of the papers and multi-source tables, from file to predictions."""

import os
from pathlib import Path

import numpy as np
import pytest

from ensemblage.datasets import open_dataset, read_table
from ensemblage.persistence import load, save
from ensemblage.studies import compare, predict, read_rows, train

# Larger tables are fitted with the fast methods only.
MAX_ROWS = 1000
FAST_METHODS = ("majority", "logistic", "boosting", "bayesnet")


def shared_files(*patterns):
    named = os.environ.get("ENSEMBLAGE_SHARED")
    folder = Path(named) / "data" if named else None
    return sorted(path for each in patterns for path in folder.glob(each)) if folder else []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "path",
    shared_files("*.csv", "multi-source/*.csv"),
    ids=lambda path: getattr(path, "stem", "none"),
)
def test_classification_from_file_to_predictions(path, tmp_path):
    names = read_table(path).names
    target = "class" if "class" in names else names[-1]
    source = "source" if "source" in names else None
    dataset = open_dataset(str(path), target, source_column=source)
    methods = None if len(dataset.y) <= MAX_ROWS else FAST_METHODS
    result = compare(dataset, methods=methods, n_splits=3, quick=True, n_jobs=1)
    assert [each.failures for each in result.methods if each.failures] == []
    trained = train(dataset, "logistic", n_splits=2, n_jobs=1)
    save(
        trained.model, tmp_path / "m.skops", columns=dataset.feature_names, kinds=dataset.kinds,
        target=target, ignored=[source] if source else [],
    )  # fmt: skip
    saved = load(tmp_path / "m.skops")
    rows = read_rows(saved, path)
    labels = predict(saved.model, rows.X).y_pred
    truth = rows.table.column(target)
    assert (labels == truth).mean() > max(dataset.classes.values()) / len(dataset.y) - 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "path", shared_files("regression/*.csv"), ids=lambda path: getattr(path, "stem", "none")
)
def test_regression_from_file_to_predictions(path, tmp_path):
    dataset = open_dataset(str(path), "target")
    result = compare(dataset, methods=["mean", "ridge", "tree"], n_splits=2, quick=True, n_jobs=1)
    assert [each.failures for each in result.methods if each.failures] == []
    trained = train(dataset, "ridge", n_splits=2, n_jobs=1)
    save(
        trained.model, tmp_path / "model.skops", columns=dataset.feature_names,
        kinds=dataset.kinds, target="target",
    )  # fmt: skip
    saved = load(tmp_path / "model.skops")
    predicted = predict(saved.model, read_rows(saved, path).X).y_pred
    assert np.mean((predicted - dataset.y) ** 2) < np.var(dataset.y)
