import re
from pathlib import Path

import pytest

from ensemblage.datasets import dataset_fingerprint, load_dataset
from ensemblage.studies import CellResult, ExperimentFileError, read_study, run_study
from ensemblage.studies._study import MethodPoint, Splits
from ensemblage.studies._study_file import check_method, check_splits, read_study_file


@pytest.fixture
def read(tmp_path):
    def reader(text):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return read_study_file(path)

    return reader


LEAST = '[[datasets]]\nname = "iris"\n[[methods]]\nname = "anything"\n'


def test_defaults(read):
    study = read(LEAST)
    assert (study.name, study.title) == ("study", "study")
    assert (study.seed, study.repeats, study.folds, study.test_share) == (0, 1, 5, None)
    assert (study.methods[0].name, study.methods[0].params) == ("anything", {})
    assert read("test_share = 0.3\n" + LEAST).folds is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1.5\n" + LEAST, "study.toml: seed must be an integer from 0 to"),
        ('title = " "\n' + LEAST, "study.toml: title must be text; got ' '."),
        ("test_share = true\n" + LEAST, "test_share must be a number between 0 and 1, such as"),
        (LEAST + "label = 3\n", "methods[1]: label must be text; got 3."),
        (LEAST + "labell = 3\n", "methods[1] has an unknown key 'labell'. Did you mean 'label'?"),
        ("datasets = 3\n" + LEAST[26:], "datasets must be one or more [[datasets]] tables"),
        ("datasets = []\n" + LEAST[26:], "datasets is empty: at least one [[datasets]]"),
    ],
)
def test_errors_name_the_key_and_the_value(read, text, message):
    with pytest.raises(ExperimentFileError) as caught:
        read(text)
    assert message in str(caught.value)


def test_deep_nesting_is_refused(read):
    with pytest.raises(ExperimentFileError, match="nests lists or tables too deeply"):
        read("x = " + "[" * 100_000)


GOOD = """
name = "study"
title = "A study"
seed = 3
repeats = 2
folds = 3

[[datasets]]
name = "iris"

[[datasets]]
file = "people.csv"
target = "class"
drop = ["age"]

[[methods]]
name = "majority"

[[methods]]
name = "logistic"
params = { C = [0.1, 10.0] }
"""


@pytest.fixture
def read_study_experiment(tmp_path, table_file):
    """Reads an experiment from text, in the folder of people.csv."""

    def reader(text, **options):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return read_study(path, **options)

    return reader


def test_cells_are_ordered_by_repeat(read_study_experiment):
    experiment = read_study_experiment(GOOD)
    assert (experiment.name, experiment.title) == ("study", "A study")
    assert len(experiment.cells) == 2 * 3 * 2 * 3
    first, last = experiment.cells[0], experiment.cells[-1]
    assert first.params == {
        "dataset": "iris", "method": "majority", "params": {}, "repeat": 0, "fold": 0, "seed": 3,
        "folds": 3,
    }  # fmt: skip
    assert last.params["params"] == {"C": 10.0}
    assert (last.params["repeat"], last.params["fold"]) == (1, 2)
    assert first.data == dataset_fingerprint(load_dataset("iris"))
    assert len({cell.key for cell in experiment.cells}) == 36


def test_more_repeats_or_methods_keep_the_existing_cells(read_study_experiment):
    before = {cell.key for cell in read_study_experiment(GOOD).cells}
    more = GOOD.replace("repeats = 2", "repeats = 3") + '[[methods]]\nname = "forest"\n'
    assert before < {cell.key for cell in read_study_experiment(more).cells}
    assert not before & {cell.key for cell in read_study_experiment(GOOD, seed=4).cells}


def test_the_key_depends_on_the_rows_and_not_on_their_path(read_study_experiment, table_file):
    before = read_study_experiment(GOOD).cells
    moved = table_file.parent / "elsewhere"
    moved.mkdir()
    table_file.rename(moved / "people.csv")
    text = GOOD.replace('"people.csv"', '"elsewhere/people.csv"')
    assert [cell.key for cell in read_study_experiment(text).cells] == [cell.key for cell in before]
    content = (moved / "people.csv").read_text(encoding="utf-8")
    (moved / "people.csv").write_text(content.replace("10.5", "11.5"), encoding="utf-8")
    after = read_study_experiment(text).cells
    changed = {a.params["dataset"] for a, b in zip(before, after, strict=True) if a.key != b.key}
    assert changed == {"people"}


def test_a_run_gives_a_table_without_the_papers_values(read_study_experiment):
    experiment = read_study_experiment(GOOD)
    results = run_study(experiment, n_jobs=2)
    (table,) = experiment.summarise(results)
    assert (table.measure, table.greater_is_better) == ("accuracy", True)
    assert [(row.row, row.column) for row in table.rows[:3]] == [
        ("iris", "majority class"),
        ("iris", "logistic regression (C=0.1)"),
        ("iris", "logistic regression (C=10.0)"),
    ]
    best = table.rows[2]
    assert best.ours > 0.9
    assert best.standard_error > 0
    assert (best.repeats, best.failures, best.paper) == (6, 0, None)
    assert "3 methods" in table.summary[0]
    assert "over 2 datasets (p = " in table.summary[0]
    # the same splits for every method: the majority is the same in each
    first = [each for each in results if each.cell.params["method"] == "majority"]
    assert {each.values["log_loss"] is None for each in first} == {False}


def test_a_table_of_partial_results(read_study_experiment):
    experiment = read_study_experiment(GOOD)
    cells = experiment.cells
    values = {
        "accuracy": 0.5,
        "balanced_accuracy": 0.5,
        "log_loss": None,
        "auc": None,
        "f1": 0.5,
        "warnings": [],
    }
    some = [CellResult(cells[0], values, 0.1), CellResult(cells[1], {}, 0.1, "ValueError: no")]
    (table,) = experiment.summarise(some)
    assert (table.rows[0].ours, table.rows[0].standard_error) == (0.5, None)
    assert (table.rows[1].failures, table.rows[1].note) == (1, "1 failed: ValueError: no")
    assert table.rows[3].ours is None
    assert table.summary == ["No ranking: no dataset has scores of every method yet."]


def test_one_dataset_is_summarised_without_a_test(read_study_experiment):
    experiment = read_study_experiment(
        GOOD.replace('file = "people.csv"', 'name = "wine"').replace(
            'target = "class"\ndrop = ["age"]', ""
        )
    )
    values = {"balanced_accuracy": 0.5, "log_loss": None, "auc": None, "f1": 0.5, "warnings": []}
    iris = [cell for cell in experiment.cells[:6] if cell.params["dataset"] == "iris"]
    some = [
        CellResult(cell, values | {"accuracy": score}, 0.1)
        for cell, score in zip(iris, [0.3, 0.9, 0.8], strict=True)
    ]
    (sentence,) = experiment.summarise(some)[0].summary
    assert sentence == (
        "Best mean accuracy: logistic regression (C=0.1) (0.9000), then logistic regression "
        "(C=10.0) (0.8000)."
    )


def test_standard_errors_by_hand(read_study_experiment):
    # values 0.4 and 0.6: s² = 0.02; 2 splits that test half the rows: (1/2 + 1) s² = 0.03
    text = GOOD.replace("folds = 3", "test_share = 0.5")
    experiment = read_study_experiment(text)
    chosen = [cell for cell in experiment.cells if cell.params["method"] == "majority"]
    values = {
        "balanced_accuracy": 0.5,
        "log_loss": None,
        "auc": None,
        "f1": 0.5,
        "warnings": ["be careful"],
    }
    results = [
        CellResult(cell, values | {"accuracy": score}, 0.1)
        for cell, score in zip([chosen[0], chosen[2]], [0.4, 0.6], strict=True)
    ]
    row = experiment.summarise(results)[0].rows[0]
    assert row.standard_error == pytest.approx(0.03**0.5)
    assert row.note == "warning in 2 of 2 fits: be careful"


def test_randomness_of_a_parameter_is_seeded(read_study_experiment):
    text = GOOD.replace("params = { C = [0.1, 10.0] }", "").replace(
        'name = "majority"', 'name = "majority"\nparams = { strategy = "uniform" }'
    )
    experiment = read_study_experiment(text)
    cell = experiment.cells[0]
    assert experiment.compute(cell, None) == experiment.compute(cell, None)


def test_a_source_column_is_passed_to_source_aware_methods(read_study_experiment):
    text = GOOD.replace('drop = ["age"]', 'source = "age"').replace(
        'name = "iris"', 'name = "wine"'
    )
    experiment = read_study_experiment(text)
    cell = next(
        each for each in experiment.cells
        if each.params["dataset"] == "people" and each.params["method"] == "logistic"
    )  # fmt: skip
    values = experiment.compute(cell, None)
    assert 0 <= values["accuracy"] <= 1
    assert values["log_loss"] > 0


def test_rows_that_change_during_a_run_are_an_error(read_study_experiment, table_file):
    experiment = read_study_experiment(GOOD)
    cell = next(each for each in experiment.cells if each.params["dataset"] == "people")
    content = table_file.read_text(encoding="utf-8")
    table_file.write_text(content.replace("10.5", "12.5"), encoding="utf-8")
    with pytest.raises(ValueError, match="the dataset 'people' has changed since"):
        experiment.compute(cell, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repeats = 2", "repeat = 2", "unknown key 'repeat'. Did you mean 'repeats'"),
        ("repeats = 2", "repeats = 0", "repeats must be an integer of at least 1; got 0"),
        ("repeats = 2", "repeats = true", "repeats must be an integer of at least 1; got True"),
        ("seed = 3", "seed = -1", "seed must be an integer from 0 to"),
        ("folds = 3", "folds = 1", "folds must be an integer of at least 2; got 1"),
        ("folds = 3", "folds = 3\ntest_share = 0.3", "folds and test_share exclude each other"),
        ("folds = 3", "test_share = 30", "test_share must be a number between 0 and 1"),
        ("folds = 3", "test_share = 0.001", "test_share is 0.001, which fails for 'iris'"),
        ("folds = 3", "folds = 40", "folds is 40, but no class of 'people.csv' has more than"),
        ('title = "A study"', "title = 3", "title must be text; got 3"),
        ('name = "iris"', 'name = "-"', "'-' is not the name of a dataset. For a file, give"),
        ('name = "iris"', 'name = "people.csv"', "'people.csv' is not the name of a dataset"),
        ("seed = 3", 'measure = "akkuracy"', "measure is 'akkuracy'. Did you mean 'accuracy'"),
        ('name = "iris"', 'name = "irsi"', "no dataset 'irsi'. Did you mean 'iris'"),
        ('name = "iris"', 'title = "iris"', r"datasets[1] has an unknown key 'title'"),
        ('name = "iris"', "", r"datasets[1] needs a name, or a file and its target"),
        ('name = "iris"', 'name = "iris"\ntarget = "class"', "target is only for a file"),
        ('name = "iris"', 'name = "people"', "datasets: duplicate name 'people'"),
        ('target = "class"', "", "datasets[2] has a file but no target"),
        ('target = "class"', 'target = "clas"', "no target column 'clas'"),
        ('"people.csv"', '"peple.csv"', "no such file: 'peple.csv'"),
        ('drop = ["age"]', 'drop = "age"', "drop must be a list of column names; got 'age'"),
        ('"majority"', '"majorty"', "name is 'majorty'. Did you mean 'majority'"),
        ('"majority"', '"strata-sources"', "has none: name the column by source"),
        ("C = [0.1, 10.0]", "c = 1.0", "a parameter of LogisticRegression. Did you mean 'C'"),
        ("C = [0.1, 10.0]", "max_itre = 9", "Did you mean 'max_iter'"),
        ("C = [0.1, 10.0]", "C = -1.0", "The 'C' parameter of LogisticRegression must be"),
        ("C = [0.1, 10.0]", "C = []", "params.C is an empty list"),
        ("C = [0.1, 10.0]", "C = inf", "params.C is inf; it must be"),
        ("C = [0.1, 10.0]", "C = 1979-05-27", "it must be text, a finite number"),
        ("C = [0.1, 10.0]", "random_state = 1", "random_state cannot be set; seed of the file"),
        ("{ C = [0.1, 10.0] }", "3", "params must be a table; got 3"),
        ('name = "logistic"', "", "methods[2] needs a name, one of: majority"),
        ("{ C = [0.1, 10.0] }", "{}\nlabel = 'majority class'", "duplicate label 'majority class'"),
        ("C = [0.1, 10.0]", "C = [0.1, 0.1]", "duplicate label 'logistic regression (C=0.1)'"),
        ("[[datasets]]", "[[data]]", "unknown key 'data'. Did you mean 'datasets'"),
        ("repeats = 2", "repeats = ", "study.toml is not valid TOML: "),
    ],
)  # fmt: skip
def test_errors_are_found_before_work_starts(read_study_experiment, old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError) as caught:
        read_study_experiment(GOOD.replace(old, new))
    assert message in str(caught.value)


def test_the_example_of_the_guide_runs(read_study_experiment):
    page = Path(__file__).parents[2] / "docs" / "guide" / "experiments.md"
    example = re.search(r"(?s)```toml\n(.*?)```", page.read_text(encoding="utf-8"))[1]
    assert len(read_study_experiment(example).cells) == 2 * 5 * 3 * 3


def test_a_file_without_datasets(read_study_experiment):
    with pytest.raises(ExperimentFileError, match="datasets must be one or more"):
        read_study_experiment('[[methods]]\nname = "majority"\n')


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ExperimentFileError, match="No such file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(ExperimentFileError, match="is a folder; name a TOML file"):
        read_study(tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentFileError, match="not a text file in UTF-8"):
        read_study(tmp_path / "b.toml")


def test_impossible_splits_and_parameters_are_refused():
    iris = load_dataset("iris")
    check_splits(iris, Splits(folds=50))
    with pytest.raises(ExperimentFileError, match="folds is 51, but no class of 'iris' has more"):
        check_splits(iris, Splits(folds=51))
    check_method(MethodPoint("svm", "s", {"C": 2.0}), iris)
    with pytest.raises(ExperimentFileError, match=r"params\.c = 2 is not a parameter of SVC\. Did"):
        check_method(MethodPoint("svm", "s", {"c": 2}), iris)


def test_a_huge_grid_is_refused(read_study_experiment):
    values = list(range(1, 101))
    params = (
        f"params = {{ C = {values}, tol = {values}, max_iter = {values}, l1_ratio = {values} }}"
    )
    with pytest.raises(ExperimentFileError, match=r"methods\[2\]: .* 100,000,000 combinations"):
        read_study_experiment(GOOD.replace("params = { C = [0.1, 10.0] }", params))
