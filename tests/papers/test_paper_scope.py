import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers._paper_scope import PaperRequest, find_scope, repeat_seed


@pytest.fixture
def offline(monkeypatch):
    def refuse(name, *_):
        raise ValueError(f"Dataset {name!r} is fetched from OpenML, which cannot be reached.")

    monkeypatch.setattr("ensemblage.datasets._loaders.fetch_dataset", refuse)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)


@pytest.mark.usefixtures("offline")
def test_a_dataset_that_is_not_at_hand_is_left_out_with_a_note():
    experiment = paper_experiment("inner-table2", scale="quick")  # scikit-learn brings these along
    assert {cell.params["dataset"] for cell in experiment.cells} == {"iris", "wine"}
    notes = experiment.summarise([])[0].notes
    assert any(note.startswith("ecoli is left out") and "OpenML" in note for note in notes)


@pytest.mark.usefixtures("offline")
def test_nothing_at_hand_is_an_error_before_work_starts():
    with pytest.raises(ValueError, match=r"None of the datasets is at hand \(ecoli, glass\)"):
        paper_experiment("hiss-table2", datasets=["ecoli", "glass"])


def test_other_rows_are_another_cell(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    lines = [f"{i % 7},{i % 5},c{i % 3}" for i in range(60)]
    text = "\n".join(["a,b,class", *lines]) + "\n"
    for folder in (first, second):
        folder.mkdir()
    (first / "glass.csv").write_text(text)
    (second / "glass.csv").write_text(text.replace("c2", "c1"))
    cells = [
        paper_experiment("hiss-table3", scale="quick", data_dir=folder, datasets=["glass"]).cells
        for folder in (first, second)
    ]
    assert cells[0][0].params == cells[1][0].params
    assert cells[0][0].key != cells[1][0].key


def test_what_is_generated_is_not_looked_for():
    scope = find_scope(PaperRequest("quick", 0, None, ["made"]), ["made", "loaded"], ["made"])
    assert scope.prints == {"made": ""}
    assert scope.datasets == ("made",)
    assert scope.missing_notes == ()


def test_seeds_of_repeats_do_not_meet():
    assert repeat_seed(0, 7) == 7
    assert repeat_seed(1, 0) > repeat_seed(0, 999)
