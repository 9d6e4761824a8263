import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import make_multi_source
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    MixtureStrata,
    StrataDisplay,
    StrataEnsembleClassifier,
)
from ensemblage.strata._display import (
    NO_STRATUM,
    outline_strata,
    project,
    separate_labels,
    strongest_stratum,
)


def test_two_columns_stay_as_they_are():
    rows = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert project(rows, None)[1] == ("column 0", "column 1")
    points, axis_names = project(rows, np.array(["age", "pay"]))
    assert points is rows
    assert axis_names == ("age", "pay")


def test_columns_on_a_line_have_one_component():
    rows = np.outer([0.0, 1.0, 2.0], [1.0, 2.0, 2.0])
    points, axis_names = project(rows, None)
    np.testing.assert_allclose(np.abs(points), [[3, 0], [0, 0], [3, 0]], atol=1e-9)
    assert axis_names[0] == "component 1 (100% of the variance)"


def test_outlines_by_hand():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 9.0]])
    memberships = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    centres, covariances = outline_strata(points, memberships)
    np.testing.assert_array_equal(centres, [[1, 0], [1, 9]])
    np.testing.assert_array_equal(covariances[0], [[1, 0], [0, 0]])


def test_a_row_without_memberships_has_no_stratum():
    memberships = np.array([[0.0, 0.0], [0.2, 0.4], [1.0, 1.0]])
    affinity = np.array([[9.0, 0.0], [9.0, 0.0], [-2.0, -1.0]])
    assert strongest_stratum(memberships, affinity).tolist() == [NO_STRATUM, 1, 1]
    assert strongest_stratum(memberships, None).tolist() == [NO_STRATUM, 1, 0]


def test_equal_labels_are_separated():
    places = np.zeros((5, 2))
    parted = separate_labels(places, 0.1)
    apart = np.linalg.norm(parted[:, None] - parted, axis=2) + np.eye(5)
    assert apart.min() > 0.09
    far = np.array([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(separate_labels(far, 0.1), far, atol=1e-3)


STRATA = HISS(n_strata=3, stratum_size=0.3, random_state=0)


@pytest.fixture(autouse=True)
def _figures():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def plane():
    return make_multi_source(3, 200, 2, random_state=0, return_sources=True)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def labels(display):
    return [text.get_text() for text in display.ax_.texts]


def ellipses(display):
    return [patch for patch in display.ax_.patches if type(patch).__name__ == "Ellipse"]


def test_two_columns_are_drawn_as_they_are(plane):
    X, _, _ = plane
    display = StrataDisplay.from_estimator(STRATA.fit(X), X)
    np.testing.assert_array_equal(display.points, X)
    assert display.ax_.get_xlabel() == "column 0"
    assert labels(display) == ["0", "1", "2"]
    assert len(ellipses(display)) == 3
    assert display.figure_ is display.ax_.figure
    np.testing.assert_allclose(display.sizes, STRATA.transform(X).sum(axis=0))
    assert f"stratum 0 ({display.sizes[0]:.0f} rows)" in legend(display)


def test_outlines_by_hand_of_strata_display():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 9.0]])
    memberships = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    display = StrataDisplay(points, memberships)
    np.testing.assert_array_equal(display.centres, [[1, 0], [1, 9]])
    np.testing.assert_array_equal(display.covariances[0], [[1, 0], [0, 0]])
    np.testing.assert_array_equal(display.sizes, [2, 0.5])
    np.testing.assert_array_equal(display.strongest, [0, 0, 1])
    flat = ellipses(display.plot(n_std=2))[0]
    assert sorted([flat.width, flat.height]) == pytest.approx([0, 4])


def test_equal_memberships_are_decided_by_affinity():
    memberships = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    affinity = np.array([[-1.0, -2.0], [-2.0, -1.0], [0.0, 0.0]])
    display = StrataDisplay(np.zeros((3, 2)), memberships, affinity=affinity).plot()
    assert display.strongest.tolist() == [0, 1, -1]
    assert "in no stratum (1 rows)" in legend(display)


def test_many_columns_become_two_components():
    X, y = make_multi_source(3, 200, 6, random_state=0)
    display = StrataDisplay.from_estimator(STRATA.fit(X), X, y)
    np.testing.assert_allclose(np.abs(display.points), np.abs(PCA(2).fit_transform(X)), atol=1e-9)
    assert "of the variance" in display.ax_.get_ylabel()
    assert any(text.startswith("class 0") for text in legend(display))
    assert legend(display)[-1].startswith("3 strata of ")


@pytest.mark.parametrize("colour_by", ["stratum", "class"])
def test_an_ensemble_in_a_pipeline_of_frames(colour_by):
    X, y = make_multi_source(3, 200, 4, random_state=0)
    rows = pd.DataFrame(X, columns=list("abcd"))
    strata = make_pipeline(PCA(2), HISS(3, 0.4))
    model = make_pipeline(StandardScaler(), StrataEnsembleClassifier(strata, random_state=0))
    display = StrataDisplay.from_estimator(model.fit(rows, y), rows, y, colour_by=colour_by)
    assert display.ax_.get_xlabel().startswith("column 0")
    assert len(labels(display)) == 3


def test_names_of_columns_and_sources(plane):
    X, y, sources = plane
    rows = pd.DataFrame(X, columns=["age", "pay"])
    places = np.array(["Basel", "Bern", "Genf"])[sources]
    strata = SourceStrata().fit(rows, y, sources=places)
    display = StrataDisplay.from_estimator(strata, rows)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("age", "pay")
    assert legend(display)[0].startswith("0: Basel (")


def test_draws_on_given_axes_and_again(plane):
    X, y, _ = plane
    _, axes = plt.subplots(1, 2)
    display = StrataDisplay.from_estimator(STRATA.fit(X), X, y, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.plot(colour_by="stratum", ax=axes[1]).ax_ is axes[1]


def test_strata_that_hold_nothing_are_left_out():
    display = StrataDisplay(np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])).plot()
    assert labels(display) == ["0"]


@pytest.mark.parametrize("n_strata", [12, 30])
def test_many_strata(n_strata):
    X, _ = make_multi_source(3, 300, 2, random_state=0)
    strata = MixtureStrata(n_strata, assignment="soft", random_state=0).fit(X)
    assert len(labels(StrataDisplay.from_estimator(strata, X))) == n_strata


def test_can_be_written_as_picture(plane, tmp_path):
    X, y, _ = plane
    figure = StrataDisplay.from_estimator(STRATA.fit(X), X, y).figure_
    for suffix in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"map.{suffix}")
        assert (tmp_path / f"map.{suffix}").stat().st_size > 1000


def test_categories_cannot_be_plotted():
    class Jobs(HISS):
        """Strata of categorical columns."""

        def transform(self, X):
            return np.eye(2)[: len(X)]

        log_affinity = transform

    rows = pd.DataFrame({"job": ["cook", "smith"], "city": ["Bern", "Uri"]})
    strata = Jobs()
    strata.memberships_ = np.eye(2)
    with pytest.raises(ValueError, match="X has categorical columns"):
        StrataDisplay.from_estimator(strata, rows)


def test_bad_input_is_named(plane):
    X, y, _ = plane
    fitted = STRATA.fit(X)
    with pytest.raises(TypeError, match="LogisticRegression has no strata"):
        StrataDisplay.from_estimator(LogisticRegression().fit(X, y), X)
    with pytest.raises(NotFittedError):
        StrataDisplay.from_estimator(HISS(), X)
    with pytest.raises(ValueError, match="colour_by='size' must be"):
        StrataDisplay.from_estimator(fitted, X, colour_by="size")
    with pytest.raises(ValueError, match="colour_by='class' requires y"):
        StrataDisplay.from_estimator(fitted, X, colour_by="class")
    with pytest.raises(ValueError, match="at least two columns; the strata have 1"):
        StrataDisplay.from_estimator(HISS(2, 0.5).fit(X[:, :1]), X[:, :1])
    with pytest.raises(ValueError, match="BootstrapStrata has the same affinity to all strata"):
        StrataDisplay.from_estimator(BootstrapStrata(3).fit(X), X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        StrataDisplay.from_estimator(fitted, X, y[:-1])


def test_without_matplotlib_the_message_names_the_extra():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from ensemblage.strata import StrataDisplay\n"
        "from ensemblage.strata import HISS\n"
        "try:\n"
        "    StrataDisplay.from_estimator(HISS(), [[0.0, 1.0]])\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert 'the extra `plot`: pip install "ensemblage[plot]"' in result.stdout


@pytest.mark.parametrize("stratifier", [STRATA, make_pipeline(StandardScaler(), STRATA)])
@pytest.mark.filterwarnings("ignore:.*hold one class only")
def test_a_frame_is_taken_as_the_ensemble_takes_it(plane, stratifier):
    X, y, _ = plane
    frame = pd.DataFrame(X, columns=["height", "weight"])
    ensemble = StrataEnsembleClassifier(stratifier, random_state=0).fit(frame, y)
    display = StrataDisplay.from_estimator(ensemble, frame)  # warnings are errors
    if stratifier is STRATA:
        assert display.ax_.get_xlabel() == "height"


def test_some_strata_are_outlined_and_a_row_is_highlighted(plane):
    X, y, _ = plane
    display = StrataDisplay.of_model(STRATA.fit(X), X, y).plot(strata=[1], mark=3)
    assert len(display.ax_.patches) == 1
    labels = display.ax_.get_legend_handles_labels()[1]
    assert "the row" in labels
    assert f"1 of {len(display.sizes)} strata" in labels[-2]
    ring = display.ax_.lines[-1]
    np.testing.assert_array_equal(ring.get_xydata()[0], display.points[3])
    assert not StrataDisplay.of_model(STRATA, X, y).plot(strata=[]).ax_.patches
