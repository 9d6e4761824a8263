"""The shape of a study's TOML file."""

import pytest

from ensemblage.runs import ExperimentFileError, read_study_file


@pytest.fixture
def read(tmp_path):
    def reader(text):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return read_study_file(path)

    return reader


LEAST = '[[datasets]]\nname = "iris"\n[[methods]]\nname = "anything"\n'


def test_what_is_usual_may_be_left_out(read):
    study = read(LEAST)
    assert (study.name, study.title) == ("study", "study")
    assert (study.seed, study.repeats, study.folds, study.test_share) == (0, 1, 5, None)
    assert (study.methods[0].name, study.methods[0].params) == ("anything", {})
    assert read("test_share = 0.3\n" + LEAST).folds is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1.5\n" + LEAST, "study.toml: seed must be a whole number of at least 0 and"),
        ('title = " "\n' + LEAST, "study.toml: title must be text; got ' '."),
        ("test_share = true\n" + LEAST, "test_share must be a number between 0 and 1, such as"),
        (LEAST + "label = 3\n", "methods[1]: label must be text; got 3."),
        (LEAST + "labell = 3\n", "methods[1] has an unknown key 'labell'. Did you mean 'label'?"),
        ("datasets = 3\n" + LEAST[26:], "datasets must be given as one or more tables"),
        ("datasets = []\n" + LEAST[26:], "datasets is empty: at least one [[datasets]]"),
    ],
)
def test_errors_name_the_place_the_value_and_the_remedy(read, text, message):
    with pytest.raises(ExperimentFileError) as caught:
        read(text)
    assert message in str(caught.value)


def test_deep_nesting_is_a_sentence(read):
    with pytest.raises(ExperimentFileError, match="nests lists or tables too deeply"):
        read("x = " + "[" * 100_000)
