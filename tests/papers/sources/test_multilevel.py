import numpy as np
import pandas as pd
import pytest

from ensemblage.papers._declaration import PaperScope, find_table
from ensemblage.papers._summaries import entry, failure_notes
from ensemblage.papers.sources import _multilevel as multilevel
from ensemblage.papers.sources._multilevel import (
    CELLS,
    COLUMNS,
    METHODS,
    Prediction,
    best_peer_sentence,
    class_scores,
    comparison_sentences,
    expected_worst_coverage,
    fixed_effects,
    mean_residual,
    multilevel_scores,
    multilevel_task,
    share_sentence,
    value_scores,
)
from ensemblage.papers.sources._multilevel_tables import (
    CLASS_TABLES,
    CLASSIFICATION,
    CONFIRM,
    DESIGN,
    DESIGN_FILES,
    HALF_OF,
    NUMERIC_TABLES,
    REGRESSION,
    read_frame,
    split_in_halves,
)
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.studies import Cell, CellResult

PEERS = {"catboost": "catboost", "gpboost": "gpboost", "grouped": "sklego", "mixed": "statsmodels"}


def made(*, classes, n_sources=4, n_rows=40, n_classes=2):
    """A table whose sources differ in their level; the last column is a copy of the first."""
    rng = np.random.default_rng(0)
    sources = np.repeat(np.arange(n_sources), n_rows)
    x, kind = rng.normal(size=len(sources)), rng.integers(3, size=len(sources))
    level = 2 * (sources % 2) - 1
    y = x + 2 * level + rng.normal(size=len(x))
    if classes:
        y = np.array(["low", "mid", "high"])[
            np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        ]
    columns = {"x": x, "kind": np.array(list("abc"))[kind], "copy": x}
    frame = pd.DataFrame({**columns, "place": [f"p{s}" for s in sources], "y": y})
    return read_frame(frame, "made", classes=classes)


TABLES = {CLASSIFICATION: made(classes=True), REGRESSION: made(classes=False)}
TASKS = {name: multilevel_task(table, 0) for name, table in TABLES.items()}


@pytest.fixture
def light_pools(monkeypatch):
    for name, kind in (("Classifier", EnsemblageClassifier), ("Regressor", EnsemblageRegressor)):
        member = "logistic" if name == "Classifier" else "ridge"
        monkeypatch.setattr(
            multilevel,
            f"Ensemblage{name}",
            lambda kind=kind, member=member, **options: kind([member], **options),
        )


def test_halves_are_fixed():
    assert split_in_halves(dict.fromkeys("dbca"), ("own",)) == {
        "own": DESIGN, "a": DESIGN, "b": CONFIRM, "c": DESIGN, "d": CONFIRM,
    }  # fmt: skip
    assert {name for name, half in HALF_OF[REGRESSION].items() if half == CONFIRM} == {
        "boston-towns", "chicks", "crime", "exam", "high-school", "radon", "sacramento", "wages",
    }  # fmt: skip
    confirm = {name for name, half in HALF_OF[CLASSIFICATION].items() if half == CONFIRM}
    assert confirm == {
        "admissions", "chile", "contraception", "crop-insurance", "headaches", "hospital-deaths",
        "leaf-shape", "penguins", "trump-vote", "world-values",
    }  # fmt: skip
    assert not confirm & set(DESIGN_FILES)


@pytest.mark.parametrize("table", [*CLASS_TABLES.values(), *NUMERIC_TABLES.values()])
def test_target_and_source_are_no_features(table):
    assert table.source != table.target
    assert not {table.source, table.target} & set(table.drop)


def test_rare_sources_and_classes_are_left_out():
    places = ["a"] * 70 + ["b"] * 70 + ["c"] * 5 + [None] * 2
    frame = pd.DataFrame({"x": np.arange(147.0), "place": places, "y": ["u", "v"] * 70 + ["w"] * 7})
    table = read_frame(frame, "made", classes=True)
    assert (len(table.y), table.n_classes, table.sources.max()) == (140, 2, 1)
    with pytest.raises(ValueError, match="made has 70 rows of 1 sources that are large enough"):
        read_frame(frame[:70], "made", classes=True)


def test_numeric_targets_are_in_standard_deviations():
    assert TABLES[REGRESSION].n_classes == 0
    assert TABLES[REGRESSION].y.std() == pytest.approx(1)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_split_has_half_of_each_source(task):
    assert np.bincount(task.train.sources).tolist() == [20] * 4
    assert np.bincount(task.test.sources).tolist() == [20] * 4
    assert task.n_sources == 4
    assert task.train.with_source()[0].tolist()[-1].startswith("s")
    assert sum(len(test) for _, test in task.folds()) == 80


def test_classes_are_not_balanced_within_sources():
    table = made(classes=True)
    shares = [
        np.bincount(task.train.sources, task.train.y == 0)
        for task in (multilevel_task(table, seed) for seed in range(8))
    ]
    assert np.std(shares, axis=0).max() > 0


def test_large_tables_have_700_training_rows():
    task = multilevel_task(made(classes=False, n_rows=500), 1)
    assert len(task.train.y) == pytest.approx(700, abs=1)
    assert len(task.train.y) + len(task.test.y) == 2000


def test_fixed_effects_are_independent_columns():
    W, W_new = fixed_effects(TASKS[REGRESSION].train.Z, TASKS[REGRESSION].test.Z)
    assert np.linalg.matrix_rank(W) == W.shape[1] == W_new.shape[1]
    assert W[:, 0].tolist() == [1.0] * 80


@pytest.mark.usefixtures("light_pools")
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("method", CELLS)
def test_every_method_is_scored(method, task):
    if method in PEERS:
        pytest.importorskip(PEERS[method])
    found = multilevel_scores(method, task)
    assert set(found) == ({"source-aware", "blind"} if method == "source-aware" else {method})
    baseline = np.log(2) if task.n_classes else 1.0
    for name, scores in found.items():
        assert 0 < scores["loss"] < (1.5 * baseline if name == "blind" else 0.8 * baseline)
        assert scores["worst"] > 0
        assert ("coverage" in scores) == (not task.n_classes and name in {"source-aware", "column"})


@pytest.mark.parametrize("method", [each for each in METHODS if each != "column"])
def test_three_classes(method):
    if method in PEERS:
        pytest.importorskip(PEERS[method])
    found = multilevel_scores(method, multilevel_task(made(classes=True, n_classes=3), 0))
    assert (found == {}) == (method in {"gpboost", "mixed"})
    assert all(each["loss"] < np.log(3) for each in found.values())


def test_scores_of_classes_by_hand():
    proba = np.tile([0.5, 0.5], (22, 1))
    proba[10:] = [0.2, 0.8]
    y, sources = np.repeat([1, 0, 1], [10, 6, 6]), np.repeat([0, 1, 2], [10, 10, 2])
    scores = class_scores(Prediction(proba), y, sources)
    assert scores["loss"] == pytest.approx(
        -(10 * np.log(0.5) + 6 * np.log(0.2) + 6 * np.log(0.8)) / 22
    )
    # the third source has too few rows; ties go to the first class
    assert scores["worst"] == 1.0
    gaps = [np.sqrt(0.25 - 0.025), np.sqrt(0.4**2 - 0.016), 0.0]
    assert scores["calibration"] == pytest.approx(np.mean(gaps))


def test_scores_of_numeric_targets_by_hand():
    y, sources = np.r_[np.zeros(10), np.tile([1.0, 3.0], 5), 9.0], np.repeat([0, 1, 2], [10, 10, 1])
    interval = np.tile([-1.0, 2.0], (21, 1))
    scores = value_scores(Prediction(np.zeros(21), interval), y, sources)
    assert scores["loss"] == pytest.approx(np.sqrt((5 * 1 + 5 * 9 + 81) / 21))
    assert scores["worst"] == pytest.approx(np.sqrt(5))
    assert scores["calibration"] == pytest.approx(np.sqrt(4 - 10 / 9 / 10) / 3)
    assert scores["coverage"] == pytest.approx(15 / 21)
    assert scores["worst_coverage"] == 0.5
    assert "coverage" not in value_scores(Prediction(np.zeros(21)), y, sources)


def test_small_sources_are_not_the_worst():
    scores = value_scores(Prediction(np.zeros(9), np.zeros((9, 2))), np.ones(9), np.arange(9) // 3)
    assert set(scores) == {"loss", "calibration", "coverage"}


def test_the_mean_residual_is_corrected_for_chance():
    assert mean_residual(np.array([3.0])) == 0
    assert mean_residual(np.array([-1.0, 1.0])) == 0
    assert mean_residual(np.array([1.0, 3.0])) == pytest.approx(np.sqrt(4 - 2 / 2))


def test_expected_worst_coverage():
    assert expected_worst_coverage([10]) == pytest.approx(0.9)
    # the lower of two single rows is covered if both are
    assert expected_worst_coverage([1, 1]) == pytest.approx(0.81)
    drawn = np.random.default_rng(0).binomial([12, 20, 35], 0.9, (100_000, 3)) / [12, 20, 35]
    assert expected_worst_coverage([12, 20, 35]) == pytest.approx(
        drawn.min(axis=1).mean(), abs=0.001
    )


def rows_of(**losses):
    return [
        entry(f"t{place}", COLUMNS[method.replace("_", "-")], [value])
        for method, values in losses.items()
        for place, value in enumerate(values)
    ]


def test_the_pool_is_compared_with_each_peer():
    own = [0.9, 0.8, 0.95, 0.9, 0.85, 0.99]
    rows = rows_of(source_aware=own, column=[1.0] * 6, lightgbm=[*own[:5], 1.1])
    column, boosting = comparison_sentences(rows, "log loss")
    assert column == (
        "source-aware pool against source as a column: log loss -10.2% on average (median "
        "-10.0%), lower on 6 of 6 tables, Wilcoxon p = 0.062 after Holm."
    )
    assert boosting == (
        "source-aware pool against LightGBM: log loss -1.7% on average (median +0.0%), lower on "
        "1 of 6 tables, Wilcoxon p = 1 after Holm."
    )
    few = [row for row in rows if row.row in {"t0", "t1"}]
    assert comparison_sentences(few, "log loss")[0].endswith("lower on 2 of 2 tables.")
    assert comparison_sentences([], "log loss") == []


def test_tables_above_the_best_peer_are_named():
    rows = rows_of(source_aware=[0.9, 1.01, 1.1], column=[1.0] * 3, blind=[2.0, 2.0, 1.0])
    [sentence] = best_peer_sentence(rows, "log loss", ("column", "blind"), 0.02, "all")
    assert sentence == (
        "source-aware pool: log loss within 2% of the best of source as a column, source-blind "
        "pool on 2 of 3 tables (67%; aim: all); further above on t2 +10.0%."
    )
    assert best_peer_sentence(rows, "log loss", ("mixed",), 0.02, "all") == []


def test_a_share_of_tables():
    rows = rows_of(partial_pooling=[0.9, 1.0, 1.1], mixed=[1.0] * 3)
    [sentence] = share_sentence(rows, "RMSE", "partial-pooling", "mixed", aim="75 %")
    assert sentence == (
        "partial pooling: RMSE at most that of mixed model on 2 of 3 tables (67%; aim: 75 %), "
        "+0.0% on average."
    )


def result(dataset, method, repeat=0, error="", **values):
    params = {"dataset": dataset, "method": method, "repeat": repeat, "seed": 0}
    return CellResult(Cell("sources-multilevel", params), values, 2.0 + repeat, error)


def scores(loss, coverage=None):
    found = {"loss": loss, "calibration": 0.1, "worst": 2 * loss}
    if coverage is None:
        return found
    return found | {"coverage": coverage, "worst_coverage": 0.7, "expected_worst": 0.8}


RESULTS = [
    result("heart", "source-aware", **{"source-aware": scores(0.4), "blind": scores(0.6)}),
    result("heart", "source-aware", 1, **{"source-aware": scores(0.6), "blind": scores(0.8)}),
    result("heart", "column", column=scores(0.5)),
    result("heart", "gpboost", error="ImportError: not  there."),
    result("heart", "mixed"),
    result("exam", "source-aware", **{"source-aware": scores(0.8, 0.9), "blind": scores(1.0)}),
]


def tables_of(results):
    scope = PaperScope("quick", 0, {"heart": "print", "exam": "print"})
    return {
        table.name: table for table in find_table("sources-multilevel").summarise(results, scope)
    }


def test_tables_are_by_half_and_task():
    found = tables_of([])
    shared = ("loss", "worst", "calibration")
    assert list(found) == [
        *(f"sources-multilevel-design-classification-{each}" for each in (*shared, "seconds")),
        *(
            f"sources-multilevel-confirm-regression-{each}"
            for each in (*shared, "coverage", "seconds")
        ),
    ]
    first = found["sources-multilevel-design-classification-loss"]
    assert first.title == "Multilevel tables: design, classification, log loss"
    assert first.summary == []
    assert set(find_table("sources-multilevel").printed.library) < set(COLUMNS.values())


def test_entries_are_means_of_the_splits():
    found = tables_of(RESULTS)

    def at(stem, row, column):
        rows = found[f"sources-multilevel-{stem}"].rows
        (only,) = [each for each in rows if (each.row, each.column) == (row, column)]
        return only

    assert at("design-classification-loss", "heart", "source-aware pool").ours == pytest.approx(0.5)
    assert at("design-classification-loss", "heart", "source-blind pool").ours == pytest.approx(0.7)
    assert at("design-classification-worst", "heart", "source as a column").ours == 1.0
    assert at("design-classification-seconds", "heart", "source-aware pool").ours == 2.5
    assert at("design-classification-loss", "heart", "GPBoost").failures == 1
    not_applicable = at("design-classification-loss", "heart", "mixed model")
    assert (not_applicable.ours, not_applicable.failures) == (None, 0)
    assert at("confirm-regression-coverage", "exam", "source-aware pool, worst source").ours == 0.7
    columns = {row.column for row in found["sources-multilevel-design-classification-seconds"].rows}
    assert "source-blind pool" not in columns


def test_a_summary_says_what_failed():
    assert failure_notes(RESULTS, COLUMNS) == [
        "GPBoost failed in 1 cells, first with: ImportError: not there."
    ]
    found = tables_of(RESULTS)
    losses, coverages = (
        found[f"sources-multilevel-{each}"].summary
        for each in ("design-classification-loss", "confirm-regression-coverage")
    )
    assert losses[-1].startswith("GPBoost failed")
    [sentence] = coverages
    assert sentence == (
        "source-aware pool: 90.0% on average over 1 tables (aim: 87 to 93 %); worst source, on "
        "1 tables: 70.0% on average, where 80.0% is expected by chance, and 70.0% on exam (aim: "
        "80 %)."
    )
