from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ensemblage.datasets import load_dataset
from ensemblage.experiments import _inner_table1 as table1


@pytest.fixture(scope="module")
def row():
    X, y = table1.as_frame(load_dataset("iris"))
    rows = slice(None, None, 3)
    return table1.score_dataset(
        "iris", X[rows], y[rows], repeats=1, grid=([2, 3], [0.5]), n_estimators=2
    )


def test_a_row_has_all_columns_on_the_same_folds(row):
    assert row.inner.shape == (2, 1)
    assert {key: len(values) for key, values in row.folds.items()} == dict.fromkeys(
        ("plain", "bagging", "crowd", "default"), 10
    )
    assert row.crowd == pytest.approx(row.folds["crowd"].mean())
    assert 0 <= row.improved <= 100
    assert row.selective <= row.inner.max()


def test_the_table_stands_beside_the_papers(row):
    other = replace(row, dataset="labor", crowd=row.crowd + 3, inner=row.inner + 1, bagging=50.0)
    text = table1.format_table1([row, other])
    assert text.splitlines()[1].startswith("iris")
    assert "92.87" in text
    assert "mean absolute difference of BN to the paper's" in text
    assert "crowd tables against plain network" in text


def test_only_improving_parameters_enter_the_papers_average(row):
    made_up = table1.Table1Row(
        "iris", 90.0, np.array([[80.0, 92.0, 94.0]]), 0.0, 0.0, 0.0, {"plain": np.array([90.0])}
    )
    assert made_up.selective == 93.0
    assert made_up.improved == pytest.approx(200 / 3)


def test_frames_keep_declared_categories(shared):
    X, y = table1.as_frame(load_dataset("heart-c", shared / "data"))
    assert isinstance(y.dtype, pd.CategoricalDtype)
    assert len(y.cat.categories) == 5
    assert X["cp"].cat.categories.tolist()[0] == "typ_angina"


def test_the_papers_means():
    rows = table1.PAPER.values()
    assert np.mean([row.plain for row in rows]) == pytest.approx(83.02, abs=0.01)
    assert np.mean([row.bagging for row in rows]) == pytest.approx(85.42, abs=0.01)


def test_one_command_prints_it(capsys, monkeypatch):
    monkeypatch.setattr(table1, "QUICK_GRID", ([2], [0.5]))
    monkeypatch.setattr(table1, "PLAIN_REPEATS", 1)
    small = table1.as_frame(load_dataset("iris"))
    monkeypatch.setattr(table1, "as_frame", lambda _: tuple(part[::3] for part in small))
    monkeypatch.setattr(
        table1, "BaggedNetworks", lambda net, _, s, kind=table1.BaggedNetworks: kind(net, 2, s)
    )
    table1.main(["--only", "iris", "--repeats", "1"])
    printed = capsys.readouterr()
    assert "mean absolute difference" in printed.out
    assert printed.err.startswith("iris")
