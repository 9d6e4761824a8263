"""Permutation importance of a pool's columns, and their contributions to a prediction."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ensemblage.fusion import Mean
from ensemblage.persistence import load, save
from ensemblage.pool import (
    EnsemblageClassifier,
    EnsemblageRegressor,
    explain_by_columns,
    gather,
    permute_columns,
    summarise_importance,
)


def table_of(n_rows, seed):
    """Two columns that matter, a category that does, and two columns of noise."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Rome", "Cairo", "Lima"], n_rows)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=n_rows),
            "age": rng.normal(50, 10, n_rows),
            "town": pd.Categorical(town),
            "dose": rng.uniform(0, 2, n_rows),
            "coin": rng.integers(0, 2, n_rows),
        },
        index=np.arange(n_rows)[::-1] + 3,
    )
    signal = (frame["age"] - 50) / 7 + 2 * (town == "Rome") + 1.5 * (frame["dose"] - 1)
    y = np.where(signal + rng.logistic(size=n_rows) > 0.6, "yes", "no")
    return frame, y, signal.to_numpy() + rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = table_of(250, 0)
    return EnsemblageClassifier(["logistic", "forest"], cv=3, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def regressor():
    X, _, z = table_of(250, 0)
    return EnsemblageRegressor(["ridge", "forest"], cv=3, random_state=0).fit(X, z)


def test_columns_are_gathered_from_arrays_and_frames():
    rows = np.array([[0, 2], [1, 1], [2, 0]])
    frame = pd.DataFrame({"a": [1, 2, 3], "b": pd.Categorical(["x", "y", "x"])}, index=[7, 7, 9])
    expected = [[1, "x"], [2, "y"], [3, "x"]]
    changed = gather(frame, rows)
    assert changed.to_numpy().tolist() == expected
    assert changed.dtypes.tolist() == frame.dtypes.tolist()
    assert gather(pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]}), rows).rows() == [
        tuple(each) for each in expected
    ]
    assert gather(frame.to_numpy(), rows).tolist() == expected


@pytest.mark.parametrize("label", [None, "no"])
def test_contributions_add_up_to_the_log_odds(fitted, label):
    X, _, _ = table_of(60, 1)
    found = fitted.explain_columns(X.iloc[[4]], X, label=label, random_state=0)
    assert found.prediction == fitted.predict(X.iloc[[4]])[0]
    code = fitted.classes_.tolist().index(label or found.prediction)
    log_odds = np.log(fitted.predict_proba(X)) @ np.where(np.arange(2) == code, 1, -1)
    assert found.total == pytest.approx(log_odds[4], abs=1e-9)
    assert found.baseline == pytest.approx(log_odds.mean(), abs=1e-9)
    added = sum(each.contribution for each in found)
    assert found.baseline + added == pytest.approx(log_odds[4], abs=1e-9)
    assert [each.column for each in found] == X.columns.tolist()
    assert found.n_background == 60
    assert all(0 <= each.standard_error < 0.02 for each in found)


def test_contributions_to_a_numeric_prediction(regressor):
    X, _, _ = table_of(60, 1)
    found = regressor.explain_columns(X.iloc[[0]], X, random_state=0)
    mean = regressor.predict(X)
    added = sum(each.contribution for each in found)
    assert found.prediction == pytest.approx(mean[0], abs=1e-9)
    assert found.total == pytest.approx(mean[0], abs=1e-9)
    assert added == pytest.approx(mean[0] - mean.mean(), abs=1e-9)


def test_with_three_classes_the_reference_is_the_mean_of_the_classes(clouds):
    X, y = clouds
    model = EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, y)
    found = model.explain_columns(X[0], X, random_state=0)
    logs = np.log(model.predict_proba(X))
    code = model.classes_.tolist().index(found.prediction)
    values = logs[:, code] - logs.mean(axis=1)
    added = sum(each.contribution for each in found)
    assert added == pytest.approx(values[0] - values.mean(), abs=1e-9)
    assert found.measure.endswith("minus the mean over the classes")


def test_a_linear_pool_is_explained_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = X @ [3.0, -2.0, 0.5, 0.0] + rng.normal(size=90)
    model = EnsemblageRegressor(["ridge"], cv=3, random_state=0, encode=None).fit(X, y)
    coef = np.array([model.predict(each[None])[0] for each in np.eye(4)]) - model.predict(
        np.zeros((1, 4))
    )
    found = model.explain_columns(X[0], X, random_state=0)
    exact = coef * (X[0] - X.mean(axis=0))
    np.testing.assert_allclose([each.contribution for each in found], exact, atol=1e-9)
    assert max(each.standard_error for each in found) < 1e-9


def test_one_hot_features_are_one_player():
    X, _, z = table_of(150, 0)
    model = EnsemblageRegressor(["ridge"], cv=3, random_state=0).fit(X, z)
    found = model.explain_columns(X.iloc[[0]], X, random_state=0)
    moved = [X.iloc[[0]].assign(town=pd.Categorical([each], X["town"].cat.categories))
             for each in X["town"]]  # fmt: skip
    by_hand = model.predict(X.iloc[[0]])[0] - model.predict(pd.concat(moved)).mean()
    assert len(found) == X.shape[1]
    assert {each.column: each for each in found}["town"].contribution == pytest.approx(by_hand)


def shapley_by_hand(value, row, background):
    """Average over all orders of three columns and all background rows."""
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    found = np.zeros(3)
    for other in background:
        for order in orders:
            now = other.copy()
            for j in order:
                before = value(now[None])[0]
                now[j] = row[j]
                found[j] += value(now[None])[0] - before
    return found / len(orders) / len(background)


def test_sampled_contributions_agree_with_all_orders_within_their_errors():
    rows = np.random.default_rng(0).normal(size=(9, 3))

    def value(rows):
        return rows.prod(axis=1) + np.abs(rows[:, 0] - rows[:, 1]) * rows[:, 2] ** 2

    exact, ratios = shapley_by_hand(value, rows[0], rows[1:]), []
    for seed in range(40):
        found = explain_by_columns(value, rows, 200, np.random.default_rng(seed))
        ratios.append((found.contributions - exact) / found.errors)
    covered = np.mean(np.abs(ratios) < 1.96)
    assert 0.88 < covered < 0.99
    assert found.n_permutations == 192
    assert found.contributions.sum() == pytest.approx(found.total - found.baseline, abs=1e-12)


def test_pairs_of_columns_are_explained_exactly():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    found = explain_by_columns(
        lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], rows, 32, np.random.default_rng(0)
    )
    assert found.errors.max() < 1e-12


def test_a_large_background_is_sampled_and_one_column_is_everything():
    rows = np.random.default_rng(0).normal(size=(2000, 1))
    found = explain_by_columns(lambda rows: rows[:, 0], rows, 1024, np.random.default_rng(0))
    assert found.n_background == 256
    assert found.contributions[0] == pytest.approx(found.total - found.baseline)


def test_a_row_of_known_source_is_explained_by_the_source_aware_pool():
    rng = np.random.default_rng(0)
    X, site = rng.normal(size=(120, 2)), np.array(["Bern", "Basel"])[np.arange(120) % 2]
    y = X[:, 0] * np.where(site == "Bern", 1, -1) + 0.3 * rng.normal(size=120) > 0
    model = EnsemblageClassifier(["logistic"], cv=2, random_state=0).fit(X, y, sources=site)
    found = {
        name: model.explain_columns(np.array([2.0, 0.0]), X, name, label=True, random_state=0)
        for name in ("Bern", "Basel", None)
    }
    assert found["Bern"][0].contribution > 1
    assert found["Basel"][0].contribution < -1
    assert [each.source for each in found.values()] == ["Bern", "Basel", None]
    proba = model.predict_proba(X, sources=["Bern"] * 120)
    assert found["Bern"].baseline == pytest.approx(np.log(proba) @ [-1, 1] @ np.ones(120) / 120)


def test_contributions_are_printed_and_given_to_shap(fitted, monkeypatch):
    X, _, _ = table_of(60, 1)
    found = fitted.explain_columns(X.iloc[[4]], X, random_state=0)
    lines = str(found).splitlines()
    assert lines[0].split() == ["column", "value", "contribution", "standard", "error"]
    assert lines[-2].startswith("(baseline)")
    largest = max(found, key=lambda each: abs(each.contribution))
    assert lines[2].startswith(largest.column)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="as_shap needs shap: pip install shap"):
        found.as_shap()
    made = SimpleNamespace(
        Explanation=lambda values, **rest: SimpleNamespace(values=values, **rest)
    )
    monkeypatch.setitem(sys.modules, "shap", made)
    explanation = found.as_shap()
    assert explanation.base_values + explanation.values.sum() == pytest.approx(found.total)
    assert explanation.feature_names == X.columns.tolist()
    assert explanation.data[2] == X["town"].iloc[4]


def test_dates_and_missing_values_are_written():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(80), unit="D"),
            "age": np.where(np.arange(80) < 5, np.nan, rng.normal(size=80)),
        }
    )
    model = EnsemblageRegressor(["ridge"], cv=3, random_state=0).fit(X, np.arange(80.0))
    found = model.explain_columns(X.iloc[[1]], X, random_state=0)
    assert "2024-03-02" in str(found)
    assert "missing" in str(found)
    assert len(found) == 2  # parts of a date, and the indicator of missing values, are grouped


def test_columns_that_matter_rank_first_on_other_rows(fitted):
    X, y, _ = table_of(300, 1)
    found = fitted.permutation_importance(X, y, random_state=0)
    assert [each.column for each in found] == X.columns.tolist()
    assert set(np.argsort(found.importances)[-3:]) == {1, 2, 3}
    assert all(each.low < each.importance < each.high for each in found)
    assert all((each.low > 0) == (each.column in {"age", "town", "dose"}) for each in found)
    proba = fitted.predict_proba(X)
    codes = np.searchsorted(fitted.classes_, y)
    assert found.loss == pytest.approx(-np.log(proba[np.arange(300), codes]).mean())
    assert str(found).splitlines()[2].startswith("age")


def test_importances_are_an_attribute_until_the_next_fit(fitted):
    X, y, _ = table_of(100, 1)
    assert not hasattr(clone(fitted), "feature_importances_")
    found = fitted.permutation_importance(X, y, random_state=0)
    np.testing.assert_array_equal(fitted.feature_importances_, found.importances)
    model = EnsemblageClassifier(["logistic"], cv=2).fit(X, y)
    model.permutation_importance(X, y)
    assert not hasattr(model.fit(X, y), "feature_importances_")


def test_a_saved_pool_keeps_its_importances(fitted, tmp_path):
    X, y, _ = table_of(100, 1)
    found = fitted.permutation_importance(X, y, random_state=0)
    save(fitted, tmp_path / "pool.skops", columns=X.columns)
    loaded = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(loaded.feature_importances_, found.importances)
    assert not hasattr(fitted.prune(np.inf), "feature_importances_")


def test_a_list_of_mixed_rows_is_predicted_like_an_array():
    X, y, _ = table_of(80, 0)
    rows = np.asarray(X.astype({"town": object}), dtype=object)
    model = EnsemblageClassifier(["network", "logistic"], cv=2, random_state=0).fit(rows, y)
    assert model.member_inputs_[0] == "table"
    np.testing.assert_array_equal(model.predict_proba(rows.tolist()), model.predict_proba(rows))
    found = model.permutation_importance(rows.tolist(), y, random_state=0)
    assert found.loss == model.permutation_importance(rows, y, random_state=0).loss


def test_importance_of_a_regressor_is_the_increase_of_squared_error(regressor):
    X, _, z = table_of(200, 1)
    found = regressor.permutation_importance(X, z, random_state=0)
    assert found.measure == "squared error"
    assert found.loss == pytest.approx(np.mean((regressor.predict(X) - z) ** 2))
    assert set(np.argsort(found.importances)[-3:]) == {1, 2, 3}


def test_an_array_gives_the_importances_of_a_frame():
    X, y, _ = table_of(120, 0)
    plain = X.drop(columns="town").to_numpy()
    names = ["noise", "age", "dose", "coin"]
    found = [
        EnsemblageClassifier(["logistic"], cv=2, random_state=0)
        .fit(rows, y)
        .permutation_importance(rows, y, random_state=0)
        for rows in (plain, plain.tolist(), pd.DataFrame(plain, columns=names))
    ]
    np.testing.assert_array_equal(found[0].importances, found[1].importances)
    np.testing.assert_array_equal(found[0].importances, found[2].importances)
    assert [each.column for each in found[0]] == ["x0", "x1", "x2", "x3"]


def test_out_of_fold_importance_of_overfitted_noise_is_not_positive():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 6)), rng.integers(0, 2, 120)
    model = EnsemblageClassifier(["forest", "boosting"], cv=3, random_state=0).fit(X, y)
    weights = model.fusion_.weights_
    optimistic = model.permutation_importance(X, y, random_state=0)
    honest = model.permutation_importance(X, y, out_of_fold=True, random_state=0)
    assert (honest.out_of_fold, honest.n_samples) == (True, 120)
    assert optimistic.loss < honest.loss
    assert sum(each.low > 0 for each in optimistic) > 3
    assert sum(each.low > 0 for each in honest) <= 1
    np.testing.assert_array_equal(model.fusion_.weights_, weights)


def test_out_of_fold_importance_of_a_table(fitted):
    X, y, _ = table_of(250, 0)
    before = fitted.predict_proba(X)
    found = fitted.permutation_importance(X, y, out_of_fold=True, random_state=0)
    assert set(np.argsort(found.importances)[-3:]) == {1, 2, 3}
    np.testing.assert_array_equal(fitted.predict_proba(X), before)
    groups = np.arange(250) // 2
    again = fitted.permutation_importance(
        X, y, out_of_fold=True, groups=groups, n_repeats=1, random_state=0
    )
    assert again.n_samples == 250


def test_importance_with_sources():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 2)), columns=["a", "b"])
    X["site"] = np.array(["Bern", "Basel"])[np.arange(160) % 2]
    y = X["a"] * np.where(X["site"] == "Bern", 1, -1) + 0.3 * rng.normal(size=160) > 0
    train, test = X[:100], X[100:]
    model = EnsemblageClassifier(["logistic"], cv=2, random_state=0)
    model.fit(train, y[:100], sources="site")
    aware = model.permutation_importance(test, y[100:], random_state=0)
    assert [each.column for each in aware] == ["a", "b"]
    assert aware[0].low > 0.3
    blind = model.permutation_importance(test.drop(columns="site"), y[100:], random_state=0)
    assert blind[0].importance < 0.1
    given = model.permutation_importance(
        test[["a", "b"]], y[100:], sources=test["site"], random_state=0
    )
    np.testing.assert_array_equal(given.importances, aware.importances)
    out = model.permutation_importance(train, y[:100], out_of_fold=True, random_state=0)
    assert abs(out[0].importance) < 0.1


def losses_of(X, y, coefficient):
    return lambda rows, places: (y[places] - rows @ coefficient) ** 2


def test_intervals_cover_the_importance_of_all_rows():
    coefficient, covered = np.array([1.0, 0.3]), []
    expected = 2 * coefficient**2  # of independent columns of variance 1
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 2))
        y = X @ coefficient + rng.normal(size=80)
        found = permute_columns(losses_of(X, y, coefficient), X, 5, rng)
        rows = summarise_importance([found], "ab")
        covered.append(
            [each.low < true < each.high for each, true in zip(rows, expected, strict=True)]
        )
    assert (np.mean(covered, axis=0) > 0.9).all()
    assert (np.mean(covered, axis=0) < 0.995).all()


def generated(kind, n_rows, rng):
    """Four columns that matter and four of noise, in a random order; their positions."""
    signal, noise = rng.normal(size=(2, n_rows, 4))
    score = {
        "linear": signal @ [1.2, -1.2, 1.0, 1.0],
        "products": 2 * signal[:, 0] * signal[:, 1] + 1.5 * (signal[:, 2] - signal[:, 3]),
        "thresholds": 1.8 * ((signal > 0).sum(axis=1) - 2),
    }[kind]
    order = rng.permutation(8)
    y = (score + rng.logistic(size=n_rows) > 0).astype(int)
    return np.column_stack([signal, noise])[:, order], y, set(np.flatnonzero(order < 4))


def share_of_draws(kind, n_draws, members, n_rows=600):
    ranked = 0
    for seed in range(n_draws):
        X, y, true = generated(kind, n_rows, np.random.default_rng(seed))
        model = EnsemblageClassifier(members, cv=3, random_state=0).fit(X[:400], y[:400])
        found = model.permutation_importance(X[400:], y[400:], random_state=0)
        ranked += set(np.argsort(found.importances)[-4:]) == true
    return ranked / n_draws


@pytest.mark.parametrize("kind", ["linear", "thresholds"])
def test_true_columns_rank_first(kind):
    assert share_of_draws(kind, 3, ["logistic", "forest"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "products", "thresholds"])
def test_true_columns_rank_first_in_95_of_100_draws(kind):
    assert share_of_draws(kind, 40, "standard", 1000) >= 0.95


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_repeats": 0}, "n_repeats=0 is not a number of permutations, 1 or more"),
        ({"groups": np.arange(20)}, "groups were given with out_of_fold=False; set out_of_fold"),
        (
            {"sources": ["a"] * 20, "out_of_fold": True},
            "sources were given with out_of_fold=True, which leaves out the source-aware pool",
        ),
        ({"sources": ["a"] * 20}, "the pool was fitted without"),
    ],
)
def test_wrong_parameters_of_importance(fitted, arguments, message):
    X, y, _ = table_of(20, 1)
    with pytest.raises(ValueError, match=message):
        fitted.permutation_importance(X, y, **arguments)


def test_wrong_rows_of_importance(fitted, regressor):
    X, y, z = table_of(20, 1)
    with pytest.raises(ValueError, match="y holds 'maybe', a class that was not in y of fit"):
        fitted.permutation_importance(X, np.where(np.arange(20) < 1, "maybe", y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.permutation_importance(X, y[1:])
    with pytest.raises(ValueError, match="X has 1 row, but permutations need 2 or more"):
        fitted.permutation_importance(X[:1], y[:1])
    with pytest.raises(ValueError, match="y is missing in 1 of 20 rows"):
        regressor.permutation_importance(X, np.where(np.arange(20) < 1, np.nan, z))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "maybe"}, r"label='maybe' is not a class; use one of \['no', 'yes'\]"),
        ({"n_permutations": 0}, "n_permutations=0 is not a number of 1 or more"),
        ({"background": []}, "background has shape"),
        ({"background": [[1.0, 2.0]]}, r"background has shape \(1, 2\), but x has 5 columns"),
        ({"x": [1.0, 50.0, "Rome", 1.0, 1]}, "pass x as a frame with one row"),
    ],
)
def test_wrong_parameters_of_contributions(arguments, message):
    X, y, _ = table_of(60, 1)
    X["town"] = X["town"].astype(str)
    # without names, so that a row may be a list
    model = EnsemblageClassifier(["logistic"], cv=2).fit(X.to_numpy(), y)
    given = {"x": X.to_numpy()[0], "background": X} if "x" in arguments else {}
    given = {"x": X.to_numpy()[0], "background": X.to_numpy()} | given | arguments
    with pytest.raises(ValueError, match=message):
        model.explain_columns(**given)


def test_wrong_rows_of_contributions(fitted, regressor):
    X, _, _ = table_of(20, 1)
    with pytest.raises(ValueError, match="x has 2 and background 20 rows; give one row"):
        fitted.explain_columns(X[:2], X)
    with pytest.raises(ValueError, match="label='yes' was given to a regressor"):
        regressor.explain_columns(X[:1], X, label="yes")


def test_a_pool_without_probabilities_is_refused():
    X, y, _ = table_of(60, 1)
    model = EnsemblageClassifier([LinearSVC(), LogisticRegression()], cv=2, fusion=Mean())
    rows = X[["age", "dose"]]
    with pytest.raises(ValueError, match="needs class probabilities"):
        model.fit(rows, y).permutation_importance(rows, y)
