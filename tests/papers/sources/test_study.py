import numpy as np
import pytest

from ensemblage.datasets import Dataset
from ensemblage.papers._declaration import PaperScope, find_table
from ensemblage.papers._summaries import entry
from ensemblage.papers.sources._study import (
    BASELINE,
    BASELINES,
    METHODS,
    KnownRows,
    KnownTask,
    SourceTable,
    calibration_in_the_large,
    estimate_sentences,
    known_scores,
    known_task,
    limit_sentence,
    log_loss,
    loss_sentences,
    new_scores,
    recalibration_sentences,
    source_table,
    table_fingerprint,
)
from ensemblage.studies import Cell, CellResult


def make_task(seed=0):
    """Two sources with opposite coefficients of the first of three columns."""
    rng = np.random.default_rng(seed)
    X, sources = rng.normal(size=(240, 3)), np.arange(240) % 2
    y = (X[:, 0] * (2 * sources - 1) + 0.5 * rng.normal(size=240) > 0).astype(int)
    train, test = np.arange(120), np.arange(120, 240)
    rows = [KnownRows(X[side], y[side], sources[side]) for side in (train, test)]
    return KnownTask(*rows, seed)


TASK = make_task()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_probabilities(method):
    probabilities, cv_loss = METHODS[method](TASK)
    assert probabilities.shape == (120, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (cv_loss is not None) >= (method in BASELINES)


def test_source_aware_methods_learn_opposite_coefficients():
    source_aware = ("partial-pooling", "one-per-source", "interactions", "lightgbm-with-source")
    losses = {name: log_loss(METHODS[name](TASK)[0], TASK.test.y) for name in METHODS}
    assert max(losses[name] for name in source_aware) < 0.5
    assert min(losses[name] for name in ("pooled", "lightgbm-without-source")) > 0.65


def test_folds_have_rows_of_each_source_and_class():
    for train, test in TASK.folds():
        assert len(train) + len(test) == 120
        assert len({*zip(TASK.train.y[test], TASK.train.sources[test], strict=True)}) == 4


def test_log_loss_by_hand():
    proba = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert log_loss(proba, np.array([0, 1])) == pytest.approx(np.log(2) / 2)
    assert log_loss(proba, np.array([0, 0])) == pytest.approx((np.log(2) + 15 * np.log(10)) / 2)


def made(n_sources, n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(n_sources), n_rows)
    X = rng.normal(size=(len(sources), 2))
    y = (2 * X[:, 0] + rng.logistic(size=len(X)) > 2 * (sources == 0)).astype(int)
    names = tuple(f"s{s}" for s in range(n_sources))
    data = Dataset("made", X, y.astype(str), ("a", "b"), ("numeric", "numeric"))
    return SourceTable(data, y.astype(np.intp), sources.astype(np.intp), names)


def test_calibration_in_the_large_is_corrected_for_chance():
    proba = np.tile([0.5, 0.5], (100, 1))
    assert calibration_in_the_large(proba, np.repeat([0, 1], 50)) == 0
    assert calibration_in_the_large(proba, np.repeat([0, 1], [55, 45])) == 0
    # a difference of .4, less the variance .25 / 100
    assert calibration_in_the_large(proba, np.repeat([0, 1], [90, 10])) == pytest.approx(
        np.sqrt(0.16 - 0.0025)
    )


def test_known_sources():
    found = known_scores("one-hot", known_task(made(3), 0))
    assert set(found) == {"log_loss", "error", "worst", "gap", "cv_loss"}
    assert found["error"] <= found["worst"]
    assert 0 < found["log_loss"] < np.log(2)


def test_a_new_source_that_differs():
    found = new_scores("logistic", made(4), 0, 0)
    assert found["held"] == float(found["truth"] <= found["bound"])
    assert found["after_100"] < found["before_100"]
    assert found["truth"] > found["left_out"]
    assert 0.3 < found["novelty"] < 0.7
    assert 0 <= found["covered_left_out"] <= 1


def test_two_sources_have_no_leave_source_out_error():
    found = new_scores("logistic", made(2), 1, 0)
    assert "left_out" not in found
    assert "held" not in found
    assert found["ordinary"] > 0


def test_few_rows_are_not_recalibrated_by_more():
    found = new_scores("logistic", made(3, 60), 1, 0)
    assert "after_20" in found
    assert "after_50" not in found


@pytest.fixture
def folder(tmp_path):
    rows = [f"{i % 7},{'' if i == 3 else i},{'nm'[i % 2]},{'ab'[i // 2 % 2]}" for i in range(80)]
    (tmp_path / "multi-source").mkdir()
    text = "\n".join(["x,z,source,class", *rows])
    (tmp_path / "multi-source" / "made.csv").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_codes_of_sources_and_classes_follow_their_names(folder):
    found = source_table("made", folder)
    assert found.names == ("m", "n")
    assert found.sources[:2].tolist() == [1, 0]
    assert found.labels[:4].tolist() == [0, 0, 1, 1]
    assert found.data.feature_names == ("x", "z")


def test_a_split_has_all_pairs_and_no_missing_values(folder):
    task = known_task(source_table("made", folder), 0)
    assert (len(task.train.y), len(task.test.y)) == (24, 56)
    pairs = 2 * task.train.sources + task.train.y
    assert np.bincount(pairs).tolist() == [6, 6, 6, 6]
    assert np.isfinite(task.train.X).all()
    assert np.isfinite(task.test.X).all()


def test_a_missing_table_is_refused(folder, tmp_path):
    assert len(table_fingerprint("made", folder)) == 16
    with pytest.raises(ValueError, match=r"no file multi-source/other.csv"):
        table_fingerprint("other", folder)


def test_losses_are_compared_dataset_by_dataset():
    rows = [entry("heart", "partial pooling", [0.9]), entry("heart", BASELINE, [1.0]),
            entry("wine", "partial pooling", [0.4]),
            entry("wine", BASELINE, [0.5])]  # fmt: skip
    [sentence] = loss_sentences(rows, "log loss", BASELINE)
    assert sentence == (
        "partial pooling against baseline chosen by CV: log loss -15.0% on average (median "
        "-15.0%), lower on 2 of 2 datasets."
    )
    assert loss_sentences([], "log loss", BASELINE) == []


def test_estimates_and_prediction_limits():
    rows = [
        entry("a", "CV error", [0.1]), entry("a", "error at the new source", [0.3, 0.3]),
        entry("a", "leave-source-out error", []),
        entry("a", "share within the limit", [1.0, 0.0]),
        entry("b", "share within the limit", [1.0, 1.0]),
    ]  # fmt: skip
    assert estimate_sentences(rows) == [
        "CV error: mean absolute difference from the error at the new source 0.200 (1 rows)."
    ]
    assert limit_sentence(rows) == ["The 90 % prediction limit held for 75% of 4 new sources."]
    assert limit_sentence([]) == []


def test_recalibration_names_the_least_favourable_row():
    rows = [entry("a", "20 rows", [-4.0]), entry("b", "20 rows", [1.0])]
    [sentence] = recalibration_sentences(rows, ["20 rows"])
    assert sentence == (
        "20 rows of the new source change its log loss by -1.5 % on average; least favourable: "
        "+1.0 % (b)."
    )


def result(part, method, repeat, **values):
    params = {"part": part, "dataset": "heart", "method": method, "repeat": repeat, "seed": 0}
    return CellResult(Cell("sources", params), values, 0.1)


@pytest.fixture
def tables():
    results = [
        result("known", "interactions", 0, log_loss=0.5, error=0.2, worst=0.3, gap=0.1,
               cv_loss=0.4),
        result("known", "lightgbm-with-source", 0, log_loss=0.4, error=0.1, worst=0.2, gap=0.2,
               cv_loss=0.45),
        result("known", "interactions", 1, log_loss=0.5, error=0.2, worst=0.3, gap=0.1,
               cv_loss=0.4),
        result("known", "lightgbm-with-source", 1, log_loss=0.6, error=0.4, worst=0.4, gap=0.4,
               cv_loss=0.35),
        result("new", "boosting", 0, ordinary=0.1, truth=0.3, covered_ordinary=0.8, novelty=0.6,
               before_20=0.5, after_20=0.4),
        result("new", "boosting", 1, ordinary=0.2, truth=0.5, covered_ordinary=0.6, novelty=0.8),
    ]  # fmt: skip
    scope = PaperScope("quick", 0, {"heart": "print"})
    found = find_table("sources").summarise(results, scope)
    return {table.name: {(row.row, row.column): row.ours for row in table.rows} for table in found}


def test_the_baseline_is_chosen_in_each_split(tables):
    # interactions in the first split, boosting in the second
    assert tables["sources-log-loss"]["heart", BASELINE] == pytest.approx(0.55)
    assert tables["sources-error"]["heart", BASELINE] == pytest.approx(0.3)


def test_new_sources_are_averaged_each_counting_once(tables):
    row = "heart, gradient boosting"
    assert tables["sources-new"][row, "error at the new source"] == pytest.approx(0.4)
    assert tables["sources-new"][row, "leave-source-out error"] is None
    assert tables["sources-coverage"][row, "CV thresholds, worst source"] == 0.6
    assert tables["sources-recalibration"][row, "20 rows"] == pytest.approx(-20)
    assert tables["sources-recalibration"][row, "50 rows"] is None
