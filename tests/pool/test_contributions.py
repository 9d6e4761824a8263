import numpy as np
import pytest

from ensemblage.fusion import LogPool, Mean
from ensemblage.pool import Contribution, Contributions, HeldOutRecord
from ensemblage.pool._contributions import leave_places_out


def record(places=("rows", "columns", "columns"), weights=None):
    """Members of two places, of whom only the first knows anything."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    said = np.where(rng.uniform(size=200) < 0.85, y, 1 - y)
    knows = np.where(said[:, None] == [0, 1], 0.8, 0.2)
    outputs = np.stack([knows, *rng.dirichlet([5, 5], size=(2, 200))]).astype(np.float32)
    names = ("strata", "one", "two")
    return HeldOutRecord(names, places, outputs, outputs[0], y, np.arange(200), weights)


def test_a_place_that_knows_is_worth_most():
    found = leave_places_out(record(), LogPool())
    assert [each.place for each in found] == ["rows", "columns"]
    assert found[0].members == ("strata",)
    assert found[1].members == ("one", "two")
    assert found[0].change > 10 * abs(found[1].change)
    assert found[0].log_loss == pytest.approx(found.log_loss + found[0].change)
    assert 0 < found[0].standard_error < 0.1


def test_the_change_by_hand():
    kept = record()
    found = leave_places_out(kept, Mean())
    true = kept.outputs[:, np.arange(200), kept.y].astype(float)
    change = np.log(true.mean(axis=0)) - np.log(true[1:].mean(axis=0))
    rows = next(each for each in found if each.place == "rows")
    assert rows.change == pytest.approx(change.mean())
    assert rows.standard_error == pytest.approx(change.std() / np.sqrt(200))


def test_a_place_alone_cannot_be_left_out():
    assert len(leave_places_out(record(("given",) * 3), Mean())) == 0


def test_weights_count():
    kept = record(weights=np.where(np.arange(200) < 20, 50.0, 1e-6))
    few = leave_places_out(kept, Mean())
    true = kept.outputs[:, np.arange(20), kept.y[:20]].astype(float)
    assert few.log_loss == pytest.approx(-np.log(true.mean(axis=0)).mean(), abs=1e-4)


def test_it_prints_as_a_table():
    shown = Contributions(0.3, (Contribution("rows", ("strata",), 0.31, 0.01, 0.004),))
    lines = str(shown).splitlines()
    assert lines[2].split() == ["nothing", "0.3000"]
    assert lines[3].split() == ["rows", "strata", "0.3100", "+0.0100", "0.0040"]
    assert "<table>" in shown._repr_html_()
    assert "need not be what the leaderboard says" in shown.as_table().legend
    assert [each.place for each in shown] == ["rows"]
