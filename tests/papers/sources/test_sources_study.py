import pytest

from ensemblage.papers._paper_table import PaperScope, find_table
from ensemblage.papers.sources._sources_study import PICK
from ensemblage.runs import Cell, CellResult


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
