import numpy as np
import pandas as pd
import pytest

from ensemblage.papers._declaration import PaperScope, find_table
from ensemblage.papers._summaries import entry
from ensemblage.papers.pool import _peers as peers
from ensemblage.papers.pool._peers import (
    AUTOGLUON,
    CELLS,
    COLUMNS,
    Fitted,
    aim_sentences,
    best_setting,
    catboost_settings,
    class_scores,
    cost_sentences,
    coverage_sentences,
    lightgbm_settings,
    peer_scores,
    peer_task,
    rank_sentences,
    score,
)
from ensemblage.papers.pool._peers_tables import (
    CLASS_TABLES,
    HALF_OF,
    MAX_ROWS,
    NUMERIC_TABLES,
    read_frame,
)
from ensemblage.papers.sources._multilevel_tables import CLASSIFICATION, CONFIRM, REGRESSION
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.studies import Cell, CellResult

PACKAGES = {"lightgbm": "lightgbm", "catboost": "catboost", "realmlp": "pytabkit"}


def made(n_rows=120, *, n_classes=0):
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=n_rows), rng.integers(3, size=n_rows)
    y = x + kind + 0.3 * rng.normal(size=n_rows)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    x[:5] = np.nan
    kinds = np.array(["a", "b", None], dtype=object)[kind]
    frame = pd.DataFrame({"x": x, "kind": kinds, "y": y})
    return read_frame(frame, "y", "made", classes=n_classes > 0)


TASKS = {n: peer_task(made(n_classes=n), 0, 0) for n in (0, 2, 3)}


def test_halves_are_fixed():
    assert {name for name, half in HALF_OF[REGRESSION].items() if half == CONFIRM} == {
        "biomass", "body-weights", "college-grades", "deliveries", "fuel-economy",
        "infant-mortality", "saratoga-houses",
    }  # fmt: skip
    assert {name for name, half in HALF_OF[CLASSIFICATION].items() if half == CONFIRM} == {
        "attrition", "cancer-recurrence", "credit-status", "employment", "hawks", "hpc-jobs",
        "mortgages", "olive-oils", "shuttle-landing", "steroid-toxicity", "telephone-churn",
        "vehicle-class",
    }  # fmt: skip


@pytest.mark.parametrize("table", [*CLASS_TABLES.values(), *NUMERIC_TABLES.values()])
def test_the_target_is_kept(table):
    assert table.target not in table.drop


def test_large_tables_are_subsampled_and_rare_classes_left_out():
    y = ["u"] * 1500 + ["v"] * 480 + ["w"] * 20 + [None]
    frame = pd.DataFrame({"x": np.arange(2001.0), "y": y})
    table = read_frame(frame, "y", "made", classes=True)
    assert table.n_classes == 2
    assert len(table.y) == pytest.approx(MAX_ROWS, abs=10)
    assert np.array_equal(table.X, read_frame(frame, "y", "made", classes=True).X)


def test_numeric_targets_are_in_standard_deviations():
    assert TASKS[0].table.y.std() == pytest.approx(1)
    assert TASKS[0].n_classes == 0


@pytest.mark.parametrize("n_classes", TASKS)
def test_outer_folds_have_all_rows_once(n_classes):
    table = made(n_classes=n_classes)
    folds = [peer_task(table, repeat, 0).fold for repeat in range(6)]
    for first in (0, 3):
        tested = np.concatenate([fold.test for fold in folds[first : first + 3]])
        assert sorted(tested) == list(range(120))
    assert not np.array_equal(folds[0].test, folds[3].test)


def test_unknown_categories_are_missing():
    task = TASKS[2]
    rows = task.rows(task.fold.test).copy()
    rows[0, 1] = "new"
    table = task.table._replace(X=np.vstack([task.table.X, rows[:1]]))
    codes = task._replace(table=table).codes(np.array([len(table.X) - 1]))
    assert np.isnan(codes[0, 1])
    assert set(task.codes(task.fold.train)[:, 1]) == {0.0, 1.0, 2.0}
    assert "missing" in task.texts(task.fold.train)[:, 1]


@pytest.mark.parametrize("draw", [lightgbm_settings, catboost_settings])
def test_settings_are_drawn_by_a_seed(draw):
    assert draw(50, 1) == draw(50, 1) != draw(50, 2)
    assert len(draw(50, 1)) == 50
    assert draw(3, 1) == draw(50, 1)[:3]


def test_the_best_setting_on_all_folds():
    losses = {0: [0.1, 0.9], 1: [0.2, 0.2], 2: [0.3, 0.5], 9: [0.9, 0.0]}
    seen = []

    def trial(options, fold):
        seen.append((options["k"], fold))
        return losses.get(options["k"], [0.8, 0.8])[fold], 10 + 5 * fold

    found = best_setting(trial, [{"k": k} for k in range(10)], [0, 1], 3)
    assert found.options == {"k": 1}
    assert found.loss == pytest.approx(0.2)
    assert found.rounds == 12
    assert len([each for each in seen if each[1] == 1]) == 3
    # by the first fold alone the tenth is not among the best three
    assert best_setting(trial, [{"k": k} for k in (1, 9)], [0]).options == {"k": 1}
    losses[9] = [0.3, 0.0]
    assert best_setting(trial, [{"k": k} for k in range(10)], [0, 1]).options == {"k": 9}


@pytest.mark.filterwarnings("ignore")  # of the peers, for their developers
@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("method", PACKAGES)
def test_every_peer_is_scored(method, n_classes, monkeypatch):
    pytest.importorskip(PACKAGES[method])
    monkeypatch.setattr(peers, "N_SETTINGS", 3)
    found = peer_scores(method, peer_task(made(360, n_classes=n_classes), 0, 0))
    assert set(found) == {method}
    assert found[method]["loss"] < (0.9 * np.log(n_classes) if n_classes else 0.9)
    assert found[method]["fit"] > 0
    assert ("accuracy" in found[method]) == (n_classes > 0)


@pytest.fixture
def light_pools(monkeypatch):
    for kind, member in ((EnsemblageClassifier, "logistic"), (EnsemblageRegressor, "ridge")):
        monkeypatch.setattr(
            peers, kind.__name__, lambda kind=kind, member=member, **given: kind([member], **given)
        )


@pytest.mark.usefixtures("light_pools")
@pytest.mark.parametrize("n_classes", TASKS)
def test_autogluon_has_the_time_of_the_pool(n_classes, monkeypatch):
    limits = []

    def autogluon(task, seconds, folder):
        assert folder
        limits.append(seconds)
        if len(limits) == 1:
            raise RuntimeError("No models.")
        return peers._fit_pool(task)

    monkeypatch.setattr(peers, "require", lambda *_: None)
    monkeypatch.setattr(peers, "_fit_autogluon", autogluon)
    found = peer_scores("pool", TASKS[n_classes])
    assert set(found) == {"pool", *AUTOGLUON.values()}
    once, twice, four = limits
    assert (twice, four) == pytest.approx((2 * once, 4 * once))
    assert [found[name]["doublings"] for name in AUTOGLUON.values()] == [1, 0]
    assert ("coverage" in found["pool"]) == (not n_classes)


@pytest.mark.filterwarnings("ignore")
def test_autogluon_is_fitted():
    pytest.importorskip("autogluon.tabular")
    found = peers._autogluon_scores(TASKS[2], 5.0)
    assert found["loss"] < np.log(2)


def test_scores_of_classes_by_hand():
    scores = class_scores(np.array([0.2, 0.0, 1.0]), np.array([1, 1, 1]), np.array([30, 10]))
    mixed = 0.999 * np.array([0.2, 0.0, 1.0]) + 0.001 * 0.25
    assert scores["loss"] == pytest.approx(-np.log(mixed).mean())
    assert scores["accuracy"] == pytest.approx(100 / 3)


def test_scores_of_numeric_targets_by_hand():
    task = TASKS[0]
    y = task.table.y[task.fold.test]
    intervals = np.column_stack([y - 1, y + np.r_[-0.5, np.ones(len(y) - 1)]])
    fitted = Fitted(lambda part: part, lambda part: task.table.y[part] + 2, lambda _: intervals)
    scores = score(fitted, task, 3.0)
    assert scores["loss"] == pytest.approx(2)
    assert scores["coverage"] == pytest.approx(100 * (1 - 1 / len(y)))
    assert scores["fit"] == 3.0


def rows_of(**losses):
    return [
        entry(f"t{place}", COLUMNS[method.replace("_", "-")], [value])
        for method, values in losses.items()
        for place, value in enumerate(values)
    ]


def test_the_pool_is_compared_with_what_was_aimed_at():
    rows = rows_of(pool=[0.9, 1.1, 0.8], autogluon_4=[1.0, 1.0, 1.0])
    assert aim_sentences(rows, "log loss", classes=True) == [
        (
            "pool against AutoGluon, 4 x: log loss -10.0% in the median (aim: below 0, and the "
            "lower mean rank), lower on 2 of 3 tables (67%; aim: 60%)."
        )
    ]
    assert aim_sentences(rows, "RMSE", classes=False) == [
        "pool against AutoGluon, 4 x: RMSE -10.0% in the median (aim: not above 0)."
    ]
    assert aim_sentences([], "RMSE", classes=False) == []


def test_ranks_are_of_methods_with_all_tables():
    rows = rows_of(pool=[1.0] * 6, autogluon_4=[2.0] * 6, lightgbm=[3.0] * 6, realmlp=[0.5])
    [sentence] = rank_sentences(rows)
    assert sentence.startswith(
        "Mean ranks over 6 tables: pool 1.00, AutoGluon, 4 x 2.00, LightGBM, 50 settings 3.00."
    )
    assert rank_sentences(rows_of(pool=[1.0], lightgbm=[2.0])) == []


def test_costs_and_coverage():
    rows = rows_of(pool=[2.0, 4.0], lightgbm=[1.0, 5.0])
    assert cost_sentences(rows, peers.FIT_UNIT) == [
        (
            "Medians, CPU seconds to fit: pool 3.0, LightGBM, 50 settings 3.0. pool: 1.00 x "
            "LightGBM, 50 settings (aim: 1.2 x boosting at most)."
        )
    ]
    assert coverage_sentences(rows_of(pool=[88.0, 91.0])) == [
        (
            "89.5 % of the test rows on average over 2 tables (aim: 88 to 92 %), from 88.0 % (t0) "
            "to 91.0 % (t1)."
        )
    ]
    assert coverage_sentences([]) == cost_sentences([], peers.FIT_UNIT) == []


def result(dataset, method, error="", **values):
    params = {"dataset": dataset, "method": method, "repeat": 0, "seed": 0}
    return CellResult(Cell("pool-peers", params), values, 2.0, error)


def scores(loss, **others):
    return {"loss": loss, "accuracy": 80.0, "fit": 2.0, "predict": 9.0, **others}


RESULTS = [
    result("frogs", "pool", **{
        "pool": scores(0.4), "autogluon-1": scores(0.5, doublings=2),
        "autogluon-4": scores(0.45, doublings=0)}),
    result("frogs", "lightgbm", lightgbm=scores(0.6)),
    result("frogs", "realmlp", error="ImportError: not there."),
]  # fmt: skip


def test_tables_are_by_half_and_task():
    scope = PaperScope("quick", 0, {"frogs": "print", "biomass": "print"})
    found = {each.name: each for each in find_table("pool-peers").summarise(RESULTS, scope)}
    assert list(found) == [
        *(f"pool-peers-design-classification-{each}"
          for each in ("loss", "accuracy", "fit", "predict")),
        *(f"pool-peers-confirm-regression-{each}"
          for each in ("loss", "coverage", "fit", "predict")),
    ]  # fmt: skip
    loss = found["pool-peers-design-classification-loss"]
    values = {row.column: row.ours for row in loss.rows if row.row == "frogs"}
    assert values["pool"] == 0.4
    assert values["AutoGluon, 4 x"] == 0.45
    assert values["RealMLP"] is None
    assert loss.summary[-2:] == [
        (
            "AutoGluon, 1 x: on 1 of 1 folds it had no model within its time limit, which was "
            "doubled until it had one."
        ),
        "RealMLP failed in 1 cells, first with: ImportError: not there.",
    ]
    assert set(CELLS) < set(COLUMNS)
