from ensemblage.pages import NOTHING
from ensemblage.pool import Leaderboard, Standing

BOARD = Leaderboard(
    (
        Standing("pool", "all", 0.2, 0.92, 1.0, 3.0, 0.02, 400),
        Standing("svm", "anchor", 0.25, 0.91, 0.8, 1.0, 0.01, 400),
        Standing("<own>", "given", 0.3, 0.9, None, 2.0, None, 100),
    ),
    ("forest is left out: no time.",),
)


def test_it_is_read_line_by_line():
    assert len(BOARD) == 3
    assert BOARD[1].member == "svm"
    assert [each.rows for each in BOARD] == [400, 400, 100]


def test_it_prints_as_a_table():
    lines = str(BOARD).splitlines()
    assert lines[0].split()[:4] == ["member", "place", "log", "loss"]
    assert lines[3].split() == ["svm", "anchor", "0.2500", "0.910", "80.0%", "1.00", "10.0", "400"]
    assert lines[4].split()[4:] == [NOTHING.text, "2.00", NOTHING.text, "100"]
    assert lines[-1] == "forest is left out: no time."


def test_a_notebook_shows_it_with_names_escaped():
    page = BOARD._repr_html_()
    assert "&lt;own&gt;" in page
    assert "forest is left out: no time." in page


def test_the_best_figures_are_marked():
    marked = [[field.best for field in row] for row in BOARD.as_table().rows]
    assert marked[0][2]
    assert not marked[1][2]
