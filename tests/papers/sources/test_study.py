import numpy as np
import pytest

from ensemblage.datasets import Dataset
from ensemblage.papers._declaration import PaperScope, find_table
from ensemblage.papers._summaries import entry
from ensemblage.papers.sources._study import (
    CAREFUL,
    METHODS,
    PICK,
    KnownRows,
    KnownTask,
    SourceSet,
    excess_gap,
    held_sentence,
    known_scores,
    known_task,
    log_loss,
    loss_sentences,
    new_scores,
    promise_sentences,
    recalibration_sentences,
    set_print,
    source_set,
)
from ensemblage.studies import Cell, CellResult


def make_task(seed=0):
    """Two sources with opposite rules in the first of three columns."""
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
    assert (cv_loss is not None) >= (method in CAREFUL)


def test_who_may_know_the_source_finds_opposite_rules():
    knows = ("partial-pooling", "one-per-source", "interactions", "lightgbm-with-source")
    losses = {name: log_loss(METHODS[name](TASK)[0], TASK.test.y) for name in METHODS}
    assert max(losses[name] for name in knows) < 0.5
    assert min(losses[name] for name in ("pooled", "lightgbm-without-source")) > 0.65


def test_folds_have_rows_of_each_source_and_class():
    for train, test in TASK.folds():
        assert len(train) + len(test) == 120
        assert len({*zip(TASK.train.y[test], TASK.train.sources[test], strict=True)}) == 4


def test_log_loss_by_hand():
    said = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert log_loss(said, np.array([0, 1])) == pytest.approx(np.log(2) / 2)
    assert log_loss(said, np.array([0, 0])) == pytest.approx((np.log(2) + 15 * np.log(10)) / 2)


def made(n_sources, n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(n_sources), n_rows)
    X = rng.normal(size=(len(sources), 2))
    y = (2 * X[:, 0] + rng.logistic(size=len(X)) > 2 * (sources == 0)).astype(int)
    names = tuple(f"s{s}" for s in range(n_sources))
    data = Dataset("made", X, y.astype(str), ("a", "b"), ("numeric", "numeric"))
    return SourceSet(data, y.astype(np.intp), sources.astype(np.intp), names)


def test_a_gap_that_chance_makes_is_none():
    said = np.tile([0.5, 0.5], (100, 1))
    assert excess_gap(said, np.repeat([0, 1], 50)) == 0
    assert excess_gap(said, np.repeat([0, 1], [55, 45])) == 0
    # a gap of .4 less the variance .25 / 100
    assert excess_gap(said, np.repeat([0, 1], [90, 10])) == pytest.approx(np.sqrt(0.16 - 0.0025))


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


def test_with_two_sources_there_is_nothing_to_leave_out():
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


def test_sources_and_classes_have_numbers_in_the_order_of_their_names(folder):
    found = source_set("made", folder)
    assert found.names == ("m", "n")
    assert found.sources[:2].tolist() == [1, 0]
    assert found.labels[:4].tolist() == [0, 0, 1, 1]
    assert found.data.feature_names == ("x", "z")


def test_a_split_has_all_pairs_and_no_gaps(folder):
    task = known_task(source_set("made", folder), 0)
    assert (len(task.train.y), len(task.test.y)) == (24, 56)
    pairs = 2 * task.train.sources + task.train.y
    assert np.bincount(pairs).tolist() == [6, 6, 6, 6]
    assert np.isfinite(task.train.X).all()
    assert np.isfinite(task.test.X).all()


def test_what_is_not_there_is_said(folder, tmp_path):
    assert len(set_print("made", folder)) == 16
    with pytest.raises(ValueError, match=r"no file multi-source/other.csv"):
        set_print("other", folder)


def test_losses_are_compared_dataset_by_dataset():
    rows = [entry("heart", "partial pooling", [0.9]), entry("heart", "careful pick", [1.0]),
            entry("wine", "partial pooling", [0.4]),
            entry("wine", "careful pick", [0.5])]  # fmt: skip
    [said] = loss_sentences(rows, "log loss", "careful pick")
    assert said == (
        "partial pooling against careful pick: log loss -15.0% on average (median -15.0%), lower "
        "on 2 of 2 datasets."
    )
    assert loss_sentences([], "log loss", "careful pick") == []


def test_promises_and_bounds():
    rows = [
        entry("a", "ordinary folds promise", [0.1]), entry("a", "truth", [0.3, 0.3]),
        entry("a", "leave-sources-out promises", []),
        entry("a", "share below the bound", [1.0, 0.0]),
        entry("b", "share below the bound", [1.0, 1.0]),
    ]  # fmt: skip
    assert promise_sentences(rows) == [
        "What ordinary folds promise is 0.200 from the truth on average (1 rows)."
    ]
    assert held_sentence(rows) == ["The bound for nine in ten held for 75% of 4 new sources."]
    assert held_sentence([]) == []


def test_recalibration_names_where_it_helps_least():
    rows = [entry("a", "20 rows", [-4.0]), entry("b", "20 rows", [1.0])]
    [said] = recalibration_sentences(rows, ["20 rows"])
    assert said == (
        "20 rows of the new source change its log loss by -1.5 % on average; least to its good: "
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


def test_the_careful_pick_goes_by_the_folds_of_each_split(tables):
    # interactions in the first split, boosting in the second
    assert tables["sources-log-loss"]["heart", PICK] == pytest.approx(0.55)
    assert tables["sources-error"]["heart", PICK] == pytest.approx(0.3)


def test_new_sources_are_averaged_each_counting_once(tables):
    row = "heart, gradient boosting"
    assert tables["sources-new"][row, "truth"] == pytest.approx(0.4)
    assert tables["sources-new"][row, "leave-sources-out promises"] is None
    assert tables["sources-coverage"][row, "sets by ordinary folds, worst source"] == 0.6
    assert tables["sources-recalibration"][row, "20 rows"] == pytest.approx(-20)
    assert tables["sources-recalibration"][row, "50 rows"] is None
