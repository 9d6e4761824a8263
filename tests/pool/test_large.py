import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor, _fit
from ensemblage.pool._boosting import SETTINGS_GRID, Boosting, has_catboost, has_lightgbm
from ensemblage.pool._fit import TimeBudget, cross_validate_large, fit_pool, make_fusion
from ensemblage.pool._member_spec import holdout_fold, log_loss
from ensemblage.pool._members import resolve_members

N_ROWS = 10_400
BOOSTING = {"boosting", "catboost"} if has_catboost() else {"boosting"}


def made(n_rows=N_ROWS, seed=0):
    """Two numeric columns and a categorical one; a class and a numeric target."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    table["site"] = np.array(["x", "y", "z"], dtype=object)[rng.integers(0, 3, n_rows)]
    signal = 2 * np.sin(2 * table["a"]) + table["b"] * (table["site"] == "x")
    y = np.where(signal + rng.logistic(size=n_rows) > 0, "yes", "no")
    return table, y, (signal + 0.5 * rng.normal(size=n_rows)).to_numpy()


TABLE, Y, VALUES = made()
NUMBERS = TABLE[["a", "b"]].to_numpy()


def names(model):
    return {each.member for each in model.leaderboard_[1:]}


@pytest.fixture(scope="module")
def default():
    return EnsemblageClassifier(random_state=0).fit(TABLE, Y)


def test_a_table_with_categories_has_boosting_and_logistic_regression(default):
    assert names(default) == BOOSTING | {"logistic"}
    assert default.leaderboard_.failures == ()
    assert len(default.out_of_fold_.y) == pytest.approx(N_ROWS / 10, abs=1)
    best = log_loss(default.predict_proba(TABLE), np.searchsorted(["no", "yes"], Y))
    assert best < 0.53 < log_loss(np.full((N_ROWS, 2), 0.5), (Y == "yes").astype(int))


def test_the_leaderboard_says_which_members_are_not_fitted(default):
    note = default.leaderboard_.note
    for name in ("svm", "extra-trees", "forest", "network", "subspaces"):
        assert name in note
    assert "10,000 rows" in note
    assert "time_budget" in note
    assert note in str(default.leaderboard_)
    assert "logistic" not in note


def test_rows_of_the_first_boosting_are_all(default):
    rows = {each.member: each.n_samples for each in default.leaderboard_}
    first = "boosting"
    assert rows[first] == N_ROWS
    for other in BOOSTING - {first}:
        assert rows[other] == pytest.approx(0.9 * N_ROWS, abs=1)


def test_the_number_of_jobs_changes_no_bit(default):
    again = EnsemblageClassifier(n_jobs=2, random_state=0).fit(TABLE, Y)
    np.testing.assert_array_equal(again.predict_proba(TABLE), default.predict_proba(TABLE))


@pytest.mark.parametrize("members", ["lean", "full"])
def test_numeric_columns_and_a_numeric_target(members):
    model = EnsemblageRegressor(members, random_state=0).fit(NUMBERS, VALUES)
    assert names(model) == BOOSTING
    assert "ridge" in model.leaderboard_.note
    table, _, values = made(seed=1)
    low, high = model.predict_interval(table[["a", "b"]].to_numpy(), coverage=0.9).T
    assert np.mean((low <= values) & (high >= values)) == pytest.approx(0.9, abs=0.02)


def test_a_list_is_fitted_as_it_is_given():
    model = EnsemblageClassifier(["logistic", ("mine", GaussianNB())], random_state=0)
    model.fit(NUMBERS, Y)
    assert names(model) == {"logistic", "mine"}
    assert model.leaderboard_.note == ""
    assert len(model.out_of_fold_.y) == pytest.approx(N_ROWS / 10, abs=1)


def test_a_splitter_makes_the_folds():
    model = EnsemblageClassifier(["logistic"], cv=StratifiedKFold(2), random_state=0)
    assert len(model.fit(NUMBERS, Y).out_of_fold_.y) == N_ROWS


def test_ten_thousand_rows_are_cross_validated():
    model = EnsemblageClassifier(["logistic"], random_state=0).fit(NUMBERS[:10_000], Y[:10_000])
    assert len(model.out_of_fold_.y) == 10_000


def test_sources_of_many_rows():
    sources = TABLE["site"].to_numpy()
    model = EnsemblageClassifier(random_state=0).fit(NUMBERS, Y, sources=sources)
    assert model.source_pool_.helps
    assert "fitted in a time budget only" in model.leaderboard_.note
    assert "3 known sources" in model.leaderboard_.note
    assert "forest-by-source" in model.source_pool_.leaderboard.note
    blind = log_loss(model.predict_proba(NUMBERS), (Y == "yes").astype(int))
    aware = log_loss(model.predict_proba(NUMBERS, sources=sources), (Y == "yes").astype(int))
    assert aware < blind


@pytest.fixture
def once(rows):
    return rows._replace(folds=holdout_fold(rows.y, 0), is_large=True)


def test_a_budget_brings_other_members(once):
    specs = resolve_members("standard")
    fusion, seeds = make_fusion("log_linear", has_groups=False), range(len(specs))
    quick = fit_pool(specs, seeds, fusion, once).pool.leaderboard
    assert {each.member for each in quick[1:]} == BOOSTING
    assert "svm, logistic, extra-trees, forest are fitted in a time budget only" in quick.note
    budget = TimeBudget(1_000.0)
    whole = fit_pool(specs, seeds, fusion, once, budget=budget).pool.leaderboard
    assert {each.member for each in whole[1:]} == {each.name for each in specs}
    assert whole.note == ""


def libraries():
    return ["sklearn", *(["lightgbm"] if has_lightgbm() else [])]


@pytest.mark.parametrize("library", libraries())
def test_a_second_boosting_has_half_the_rounds_of_the_first(once, library):
    first = Boosting("first", "standard", SETTINGS_GRID, library=library)
    second = Boosting("second", "standard", SETTINGS_GRID, library=library)
    (one, other), failures = cross_validate_large([first, second], once, [1, 2], None)
    assert failures == []
    assert one.model is None
    assert one.rounds > 40
    assert max(other.spec.n_rounds) <= one.rounds / 2


def test_catboost_is_second_and_not_refitted(once):
    pytest.importorskip("catboost")
    specs = resolve_members(["catboost", "boosting"])
    (symmetric, first), _ = cross_validate_large(specs, once, [1, 2], None)
    assert first.model is None
    test = once.folds[0].test
    assert symmetric.spec.refit(once, symmetric) is symmetric.model
    np.testing.assert_allclose(
        symmetric.model.predict_proba(once.X[test]), symmetric.outputs[test], atol=1e-6
    )


def test_a_long_fit_of_many_rows_and_classes_is_announced(monkeypatch):
    y = np.arange(20_000) % 100

    def stop(*_):
        raise InterruptedError

    monkeypatch.setattr(_fit, "cross_validate_large", stop)
    with (
        pytest.warns(UserWarning, match="100 classes.*about 160 s or more.*`time_budget`"),
        pytest.raises(InterruptedError),
    ):
        EnsemblageClassifier().fit(y[:, None] + 0.5, y)
    for n_classes in (2, 10):
        with pytest.raises(InterruptedError):
            EnsemblageClassifier().fit(y[:, None] + 0.5, y % n_classes)


@pytest.mark.slow
def test_the_pool_is_not_worse_than_its_boosting_alone():
    changes = []
    for seed in range(5):
        table, y, _ = made(35_000, seed)
        codes = (y == "yes").astype(int)
        losses = []
        for members in ("lean", ["boosting"]):
            model = EnsemblageClassifier(members, random_state=0).fit(table[:15_000], y[:15_000])
            losses.append(log_loss(model.predict_proba(table[15_000:]), codes[15_000:]))
        changes.append(losses[0] / losses[1] - 1)
    assert np.mean(changes) <= 0
