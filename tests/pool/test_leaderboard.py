import numpy as np
import pytest

from ensemblage._core import NOTHING
from ensemblage.fusion import LogLinearPool, Mean
from ensemblage.pool import Ablation, AblationRow, Leaderboard, LeaderboardRow, OutOfFold, _fit
from ensemblage.pool._fit import keep_out_of_fold, stack_tested
from ensemblage.pool._leaderboard import ablate, pruning_path
from pool.test_fit import tuned

SECONDS = {"strata": 0.01, "one": 0.1, "two": 0.2}

BOARD = Leaderboard(
    (
        LeaderboardRow("pool", "all", 0.2, 0.01, 0.92, 0.02, 1.0, 3.0, 0.02, 400),
        LeaderboardRow("svm", "standard", 0.25, 0.02, 0.91, 0.03, 0.8, 1.0, 0.01, 400),
        LeaderboardRow("<own>", "user", 0.3, 0.03, 0.9, 0.04, None, 2.0, None, 100),
    ),
    ("forest is left out: no time.",),
)


def test_it_is_a_sequence_of_rows():
    assert len(BOARD) == 3
    assert BOARD[1].member == "svm"
    assert [each.n_samples for each in BOARD] == [400, 400, 100]


def test_it_prints_as_a_table():
    lines = str(BOARD).splitlines()
    assert lines[0].split()[:4] == ["member", "group", "log", "loss"]
    assert lines[3].split() == [
        "svm",
        "standard",
        "0.2500",
        "±",
        "0.0200",
        "0.910",
        "±",
        "0.030",
        "80.0%",
        "1.00",
        "10.0",
        "400",
    ]
    assert lines[4].split()[8:] == [NOTHING.text, "2.00", NOTHING.text, "100"]
    assert lines[-1] == "forest is left out: no time."


def test_a_notebook_shows_it_with_names_escaped():
    page = BOARD._repr_html_()
    assert "&lt;own&gt;" in page
    assert "forest is left out: no time." in page


def test_the_best_values_are_marked():
    marked = [[field.best for field in row] for row in BOARD.as_table().rows]
    assert marked[0][2]
    assert not marked[1][2]


@pytest.fixture
def members(rows):
    proba = np.eye(3)[(rows.y + (np.arange(150) % 5 == 0)) % 3] * 0.7 + 0.1
    return [tuned("accurate", proba), tuned("uninformative", np.full((150, 3), 1 / 3))]


def test_out_of_fold_outputs_are_kept(rows, members):
    kept = keep_out_of_fold(members, rows, members[0].outputs)
    assert kept.names == ("accurate", "uninformative")
    assert kept.groups == ("user", "user")
    np.testing.assert_allclose(kept.outputs, stack_tested(members, rows), rtol=1e-6)
    np.testing.assert_array_equal(kept.indices, np.arange(150))


def test_positions_are_those_of_the_user(rows, members):
    shifted = rows._replace(indices=np.arange(150) + 7)
    assert keep_out_of_fold(members, shifted, members[0].outputs).indices[0] == 7


def test_of_many_rows_a_subsample_is_kept(rows, members, monkeypatch):
    monkeypatch.setattr(_fit, "MAX_STORED_ROWS", 60)
    kept = keep_out_of_fold(members, rows, members[0].outputs)
    assert kept.outputs.shape == (2, 60, 3)
    np.testing.assert_array_equal(kept.y, rows.y[kept.indices])


def test_fused_outputs_by_hand(rows, members):
    kept = keep_out_of_fold(members, rows, members[0].outputs)
    np.testing.assert_allclose(kept.cross_fuse(Mean(), [1]), 1 / 3, rtol=1e-6)
    losses = kept.target.row_losses(kept.cross_fuse(Mean(), [0]), kept.y)
    right = np.arange(150) % 5 != 0
    np.testing.assert_allclose(losses, -np.log(np.where(right, 0.8, 0.1)), rtol=1e-6)
    pooled = kept.target.row_losses(kept.cross_fuse(LogLinearPool(), [0, 1]), kept.y)
    assert pooled.mean() < np.log(3)


def record(groups=("rows", "columns", "columns"), weights=None):
    """Members of two groups, of which only the first is informative."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    predicted = np.where(rng.uniform(size=200) < 0.85, y, 1 - y)
    accurate = np.where(predicted[:, None] == [0, 1], 0.8, 0.2)
    outputs = np.stack([accurate, *rng.dirichlet([5, 5], size=(2, 200))]).astype(np.float32)
    names = ("strata", "one", "two")
    return OutOfFold(names, groups, outputs, outputs[0], y, np.arange(200), weights)


def test_an_informative_group_contributes_most():
    found = ablate(record(), LogLinearPool())
    assert [each.group for each in found] == ["rows", "columns"]
    assert found[0].members == ("strata",)
    assert found[1].members == ("one", "two")
    assert found[0].change > 10 * abs(found[1].change)
    assert found[0].log_loss == pytest.approx(found.log_loss + found[0].change)
    assert 0 < found[0].standard_error < 0.1


def test_the_change_by_hand():
    kept = record()
    found = ablate(kept, Mean())
    true = kept.outputs[:, np.arange(200), kept.y].astype(float)
    change = np.log(true.mean(axis=0)) - np.log(true[1:].mean(axis=0))
    rows = next(each for each in found if each.group == "rows")
    assert rows.change == pytest.approx(change.mean())
    assert rows.standard_error == pytest.approx(change.std() / np.sqrt(200))


def test_a_group_alone_cannot_be_left_out():
    assert len(ablate(record(("user",) * 3), Mean())) == 0


def test_weights_count():
    kept = record(weights=np.where(np.arange(200) < 20, 50.0, 1e-6))
    few = ablate(kept, Mean())
    true = kept.outputs[:, np.arange(20), kept.y[:20]].astype(float)
    assert few.log_loss == pytest.approx(-np.log(true[0]).mean(), abs=1e-4)
    change = np.log(true.mean(axis=0)) - np.log(true[1:].mean(axis=0))
    assert next(each for each in few if each.group == "rows").change == pytest.approx(
        change.mean(), abs=1e-4
    )


def test_it_prints_as_a_table_of_ablation():
    shown = Ablation(0.3, (AblationRow("rows", ("strata",), 0.31, 0.01, 0.004),))
    lines = str(shown).splitlines()
    assert lines[2].split() == ["nothing", "0.3000"]
    assert lines[3].split() == ["rows", "strata", "0.3100", "+0.0100", "0.0040"]
    assert "<table>" in shown._repr_html_()
    assert "only the fusion is refitted" in shown.as_table().legend
    assert [each.group for each in shown] == ["rows"]


def test_the_member_with_the_least_loss_per_second_is_dropped_first():
    points = pruning_path(record(), SECONDS, LogLinearPool())
    assert points[0].members == ("strata", "one", "two")
    assert points[-1].members == ("strata",)
    assert points[0].latency == pytest.approx(0.31)
    assert points[-1].latency == 0.01
    assert len(points) == 3


def test_the_loss_is_that_of_the_refitted_fusion():
    kept = record()
    outputs = kept.outputs[[0, 2]].astype(float)
    fused = LogLinearPool().fit(outputs, kept.y).combine(outputs)
    expected = -np.log(fused[np.arange(200), kept.y]).mean()
    points = pruning_path(kept, {"strata": 0.01, "two": 0.2}, LogLinearPool())
    assert points[0].members == ("strata", "two")
    assert points[0].log_loss == pytest.approx(expected)
    again = kept.fit_fusion(LogLinearPool(), [0, 2])
    np.testing.assert_array_equal(again.combine(outputs), fused)
