import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from ensemblage.fusion import MemberStackingClassifier
from ensemblage.papers import paper_experiment
from ensemblage.papers._declaration import find_table, read_printed
from ensemblage.papers.hiss._errors import (
    PENDIGITS_ROWS,
    STAND_IN,
    HissReadings,
    HissTable2,
    LabelMemberStackingClassifier,
    LabelStacking,
    binary_problem,
    class_problem,
    difference_sentence,
    fitted_error,
    make_class_methods,
    make_methods,
    make_video_standin,
    member_facts,
    split_error,
)
from ensemblage.studies import CellResult


def test_every_column_has_a_method_and_a_figure_of_the_paper():
    methods = make_methods(0, 100)
    for table in map(find_table, ("hiss-table2", "hiss-table3")):
        for column in table.columns:
            assert column in methods
            # the paper has no such column
            figures = [table.printed.value(row, column) for row in table.printed.rows]
            assert all((each is None) == (column in table.own_columns) for each in figures)


def test_the_most_frequent_class_against_the_rest(shared):
    X, y = binary_problem("pendigits", str(shared / "data"))
    assert X.shape == (2000, 16)
    assert set(np.unique(y)) == {0, 1}
    assert 0.08 < y.mean() < 0.13


@pytest.mark.parametrize("method", make_methods(0, 100))
def test_each_method_beats_the_coin_on_a_split(shared, method):
    X, y = binary_problem("vehicle", str(shared / "data"))
    assert split_error((X[:400], y[:400]), method, seed=0) < 0.4


@pytest.mark.parametrize(("name", "width"), [("indoor-stand-in", 190), ("outdoor-stand-in", 126)])
def test_stand_ins_are_generated(name, width):
    X, y = binary_problem(name)
    assert X.shape == (3500, width)
    assert set(np.unique(y)) == {0, 1}


def test_methods_share_the_split(shared):
    experiment = paper_experiment(
        "hiss-table2", scale="quick", data_dir=shared / "data", datasets=["vehicle"]
    )
    first = [cell for cell in experiment.cells if cell.params["repeat"] == 0]
    majority = next(cell for cell in first if cell.params["method"] == "majority")
    problem = binary_problem("vehicle", str(shared / "data"))
    assert experiment.compute(majority, experiment.data_dir)["error"] == split_error(
        problem, "majority", seed=0
    )


def test_the_notes_state_the_protocol():
    printed = find_table("hiss-table2").printed
    assert all(name.endswith(STAND_IN) for name in printed.stand_ins)
    assert any(f"a random sample of {PENDIGITS_ROWS} rows" in note for note in printed.notes)


def test_additional_columns_have_no_figure_of_the_paper(shared):
    experiment = paper_experiment("hiss-table2", datasets=["ecoli"], data_dir=shared / "data")
    (table,) = experiment.summarise([])
    printed = {row.column: row.paper is None for row in table.rows if row.row == "ecoli"}
    assert printed == {method: method in HissTable2.own_columns for method in HissTable2().columns}


@pytest.mark.slow
def test_the_papers_preset_reaches_the_papers_error(shared):
    experiment = paper_experiment(
        "hiss-table2", data_dir=shared / "data", datasets=["vehicle", "pendigits"]
    )
    cells = [cell for cell in experiment.cells if cell.params["method"] == "hiss"]
    results = [CellResult(cell, experiment.compute(cell, experiment.data_dir), 0.0)
               for cell in cells]  # fmt: skip
    (table,) = experiment.summarise(results)
    ours = {row.row: row.ours for row in table.rows if row.column == "hiss"}
    assert ours["vehicle"] <= 0.048
    assert ours["pendigits"] <= 0.011


def test_stand_ins_are_not_compared_with_the_paper(shared):
    experiment = paper_experiment("hiss-table3", data_dir=shared / "data")
    results = [CellResult(cell, {"error": 0.25}, 0.1) for cell in experiment.cells]
    (table,) = experiment.summarise(results)
    rows = {(row.row, row.column): row for row in table.rows}
    assert rows["glass", "hiss"].difference == pytest.approx(0.25 - 0.161)
    assert rows["glass", "hiss"].repeats == 10
    assert rows["outdoor-stand-in", "hiss"].paper == 0.088
    assert rows["outdoor-stand-in", "hiss"].difference is None
    assert rows["outdoor-stand-in", "hiss"].repeats == 3
    assert rows["mean", "hiss"].repeats == 5
    assert any("nothing is reproduced there" in note for note in table.notes)


@pytest.mark.parametrize(
    ("name", "n_rows", "n_classes", "error"),
    [("ecoli-327", 327, 5, 0.437), ("glass-205", 205, 5, 0.371), ("yeast-1479", 1479, 9, 0.313)],
)
def test_without_rare_classes_the_rows_are_those_of_the_paper(
    shared, name, n_rows, n_classes, error
):
    X, labels = class_problem(name, str(shared / "data"))
    assert (len(X), len(np.unique(labels))) == (n_rows, n_classes)
    _, y = binary_problem(name, str(shared / "data"))
    assert min(y.mean(), 1 - y.mean()) == pytest.approx(error, abs=5e-4)


def test_an_id_column_numbers_the_rows_in_the_order_of_the_classes(shared):
    X, labels = class_problem("glass-id", str(shared / "data"))
    plain, _ = class_problem("glass", str(shared / "data"))
    np.testing.assert_array_equal(X[:, :-1], plain)
    np.testing.assert_array_equal(np.sort(X[:, -1]), np.arange(214))
    ordered = labels[np.argsort(X[:, -1])]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    np.testing.assert_array_equal(starts, [70, 146, 163, 176, 185])
    assert ordered[0] == "build wind float"


def test_stacking_on_labels_sees_signs_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    X[:, 0] += y
    outputs = np.stack([-X, X])[..., :1] * [-1, 1]
    fused = LabelStacking().fit(outputs, y)
    np.testing.assert_array_equal(fused.combine(outputs), fused.combine(np.sign(outputs)))
    bagging = make_methods(0, 80)["bagging"]
    kinds = MemberStackingClassifier, LabelMemberStackingClassifier
    on_values, on_labels = (kind(bagging).fit(X, y).predict_proba(X)[:, 0] for kind in kinds)
    assert len(np.unique(on_labels.round(9))) < len(np.unique(on_values.round(9))) == 80


def test_the_papers_variances_stand_beside_its_errors():
    table = read_printed("hiss-table2")
    assert table.variance("glass", "hiss") == 0.044
    assert table.variances.keys() == table.rows.keys()
    assert read_printed("hiss-table3").variance("ecoli", "em-10") == 0.021
    assert table.variance("iris", "hiss") is table.variance("glass", "em-3") is None


def test_readings_are_beside_the_papers_figure_for_their_column():
    table = HissReadings()
    assert table.printed_error("glass-205", "hiss-labels") == 0.161
    assert table.printed_error("ecoli", "em-10-spherical") == 0.448
    assert table.printed_error("yeast-1479", "adaboost-labels") == 0.315
    assert table.printed_error("ecoli", "k-means-3") is None
    assert table.printed_error("ecoli", "em-20") is None


def test_facts_on_members_and_clusters(shared):
    problem = binary_problem("ecoli", str(shared / "data"))
    facts = member_facts(problem, "bagging", 0)
    assert facts["members"] == 20
    assert 0 <= facts["disagreement"] < 0.1
    clusters = member_facts(problem, "k-means-20", 0)
    assert clusters["clusters"] == 20
    assert 1 <= clusters["smallest"] < 12
    assert 0 < clusters["single_class"] < 20


def test_one_member_is_not_diverse():
    rows, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 30 > 0
    facts = member_facts((rows, y.astype(int)), "adaboost", 0)
    if facts["members"] == 2:
        assert facts["disagreement"] == 0
        assert facts["kappa"] == 1


def test_differences_are_paired_by_dataset():
    one = dict.fromkeys("abcde", 0.1)
    other = {"a": 0.2, "b": 0.3, "c": 0.4, "d": 0.5, "e": 0.65, "f": 0.9}
    (sentence,) = difference_sentence("x", "y", one, other)
    assert sentence == (
        "x less y: -0.310 on average over 5 datasets, lower on 5 and higher on 0, "
        "Wilcoxon p = 0.062."
    )
    assert difference_sentence("x", "y", {"a": 0.1}, other) == [
        "x less y: -0.100 on average over 1 dataset, lower on 1 and higher on 0."
    ]
    assert difference_sentence("x", "y", {}, other) == []
    (sentence,) = difference_sentence("x", "y", {"a": 0.3, "b": 0.1}, {"a": 0.1 + 0.2, "b": 0.2})
    assert sentence.endswith("lower on 1 and higher on 0.")


@pytest.mark.parametrize("method", make_class_methods(0))
def test_multi_class_targets_directly_and_by_binary_problems(method):
    X, y = load_iris(return_X_y=True)
    error = fitted_error((X, y), lambda _: make_class_methods(0)[method], 0)
    assert error < (0.5 if method.startswith("svm") else 0.12)


def halves_error(X, y):
    """Error of a tuned linear model that learns one half of the rows and is asked the other."""
    half = len(y) // 2
    model = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=3)
    return 1 - model.fit(X[:half], y[:half]).score(X[half:], y[half:])


@pytest.mark.parametrize(("scene", "n_features"), [("indoor", 190), ("outdoor", 126)])
def test_the_standin_has_the_papers_shape(scene, n_features):
    X, y, sources = make_video_standin(scene, random_state=0, return_sources=True)
    assert X.shape == (3500, n_features)
    assert np.bincount(sources).tolist() == [500] * 7
    assert set(np.unique(y)) == {0, 1}
    # every clip shows both classes, or strata would do the whole work
    assert all(0.1 < y[sources == clip].mean() < 0.9 for clip in range(7))
    again = make_video_standin(scene, random_state=0)
    np.testing.assert_array_equal(again[0], X)
    assert not np.array_equal(make_video_standin(scene, random_state=1)[0], X)


def test_the_standin_is_heterogeneous():
    X, y, sources = make_video_standin(
        "outdoor", n_samples_per_source=1000, random_state=0, return_sources=True
    )
    clips = [halves_error(X[sources == each], y[sources == each]) for each in np.unique(sources)]
    assert np.mean(clips) < halves_error(X, y) - 0.03
