import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_multi_source
from ensemblage.sources import (
    AuditedSource,
    SourceAudit,
    SourceAuditDisplay,
    draw_calibration_curves,
)
from ensemblage.sources._display import calibrated_rate


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def source(name, error, slope=1.0, intercept=0.0, inverted=False):
    estimates = (0.1, 0.3, error, 0.5, error, error - 0.05, error + 0.05, 0.4, 0.6)
    return AuditedSource(
        name, 10, *estimates, slope, 0.8, 1.2, intercept, -0.9, 0.9, 0.85, inverted=inverted
    )


def made(*sources, limit=0.5):
    return SourceAudit(
        sources=sources, reference_class="ill", cv_error=0.1, cv_log_loss=0.3,
        leave_source_out_error=0.3, leave_source_out_error_ci_low=0.1,
        leave_source_out_error_ci_high=0.5, leave_source_out_log_loss=0.5, prediction_limit=limit,
        source_accuracy=0.9, source_majority_rate=0.5, column_shifts=(), worst_source="north",
        recommendation="Check its labels and codes first.",
    )  # fmt: skip


def test_the_largest_error_is_on_top_with_its_interval():
    audit = made(source("north", 0.2), source("south", 0.4, inverted=True))
    forest, fan = SourceAuditDisplay(audit).plot().axes_
    assert [each.get_text() for each in forest.get_yticklabels()] == ["north", "south"]
    lines = [line.get_xdata() for line in forest.lines]
    assert [0.35, 0.45] in [np.round(each, 2).tolist() for each in lines if len(each) == 2]
    assert sum(line.get_color() == "tab:red" for line in forest.lines) == 2
    assert forest.get_title() == "New source: 0.300; CV: 0.100"
    assert len(fan.lines) == 1 + 2
    assert {each.get_text() for each in fan.texts} == {"north", "south"}
    assert fan.get_xlabel() == "predicted risk of ill"


def test_names_stand_in_the_corners_apart_from_the_lines_and_from_each_other():
    sources = [
        source(f"s{k}", 0.2, intercept=each) for k, each in enumerate([0.5, -0.5, 0.4, -0.1])
    ]
    fan = SourceAuditDisplay(made(*sources)).plot().axes_[1]
    places = {each.get_text(): each.xyann for each in fan.texts}
    assert len(set(places.values())) == 4
    assert {name: x < y for name, (x, y) in places.items()} == {
        "s0": True, "s2": True, "s1": False, "s3": False,
    }  # fmt: skip


def test_a_page_gives_its_own_ink():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    draw_calibration_curves(made(source("north", 0.2), source("south", 0.2)), ax, ink="#010203")
    assert {each.get_color() for each in [*ax.lines[1:], *ax.texts]} == {"#010203"}


def test_no_line_without_a_prediction_limit():
    many = [source(f"s{k}", 0.2, intercept=k / 10) for k in range(12)]
    with_limit = SourceAuditDisplay(made(*many)).plot()
    without = SourceAuditDisplay(made(*many, limit=1.0)).plot()
    assert len(with_limit.axes_[0].lines) == len(without.axes_[0].lines) + 1
    assert "s0" not in {each.get_text() for each in without.axes_[1].texts}
    assert without.figure_.get_figheight() > 4


def test_calibrated_rates_by_hand():
    predicted = np.array([0.5, 0.8])
    np.testing.assert_allclose(calibrated_rate(source("a", 0.2), predicted), predicted)
    # odds of 4 to the power of one half, times e
    found = calibrated_rate(source("a", 0.2, slope=0.5, intercept=1.0), predicted)
    np.testing.assert_allclose(found, [np.e / (1 + np.e), 2 * np.e / (1 + 2 * np.e)])


def test_from_an_estimator_on_given_axes():
    from matplotlib import pyplot as plt

    X, y, sources = make_multi_source(3, n_samples=150, random_state=0, return_sources=True)
    axes = plt.subplots(1, 2)[1]
    display = SourceAuditDisplay.from_estimator(
        LogisticRegression(), X, y, sources, axes=axes, random_state=0
    )
    assert display.figure_ is axes[0].figure
    assert len(display.audit.sources) == 3
