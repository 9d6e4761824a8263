"""A study laid out as cells."""

from ensemblage.methods._splits import Splits
from ensemblage.methods._study import MethodPoint, Study, StudyParams
from ensemblage.runs import Cell

POINTS = (MethodPoint("majority", "m", {}), MethodPoint("svm", "s", {"C": 2.0}))


def test_cells_leave_out_what_is_usual_and_read_back():
    study = Study("s", "S", ("iris",), POINTS, Splits(seed=7, folds=2))
    first, *_, last = study.cells({"iris": "abc"})
    assert first.params == {
        "dataset": "iris", "method": "majority", "params": {}, "repeat": 0, "fold": 0, "seed": 7,
        "folds": 2,
    }  # fmt: skip
    assert last.data == "abc"
    assert StudyParams.of(last) == StudyParams("iris", "svm", {"C": 2.0}, 0, 1, 7, 2)
    quick = Study("s", "S", ("iris",), POINTS, Splits(folds=2, new_sources=True, quick=True))
    params = StudyParams.of(quick.cells({"iris": ""})[0])
    assert params.splits == Splits(folds=2, new_sources=True, quick=True)
    assert Cell("s", quick.cells({"iris": ""})[0].params).params["quick"] is True
