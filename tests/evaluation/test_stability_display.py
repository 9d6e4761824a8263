import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_hidden_features
from ensemblage.evaluation import StabilityDisplay
from ensemblage.subspace import StabilitySelector


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def stable():
    X, y, _ = make_hidden_features("linear", 150, n_features=12, random_state=0)
    return StabilitySelector(LogisticRegression(), n_pairs=5, random_state=0).fit(X, y)


def test_draws_what_was_counted(stable):
    display = StabilityDisplay.from_estimator(stable, top=5)
    assert len(display.bars_) == 5
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(stable.frequencies_)[::-1][:5])
    assert display.ax_.get_title().startswith("At most ")
    assert sorted(display.selected()) == sorted(
        str(d) for d in stable.get_support(indices=True)
    )  # fmt: skip


def test_bars_of_selected_features_have_a_colour_of_their_own():
    display = StabilityDisplay([0.2, 0.9, 0.75], 0.75, feature_names=["a", "b", "c"]).plot()
    assert display.selected() == ["b", "c"]
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[0] == colors[1] != colors[2]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    assert not display.ax_.get_title()


def test_wrong_shapes():
    with pytest.raises(ValueError, match="expected one share per feature"):
        StabilityDisplay(np.eye(2), 0.75)
    with pytest.raises(ValueError, match="feature_names has 1 entries for 2 features"):
        StabilityDisplay([0.1, 0.2], 0.75, feature_names=["a"])
