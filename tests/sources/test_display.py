import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from ensemblage.datasets import make_multi_source
from ensemblage.sources import SourceAuditDisplay, forests, panels_of, source_audit
from ensemblage.sources._display import Forest, _ticks


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(480, 3))
    y = np.where(X[:, 0] + rng.logistic(size=480) > 0, "well", "ill")
    sources = np.repeat([f"site {s}" for s in range(6)], 80)
    return source_audit(
        LogisticRegression(), X, y, sources, event="ill", time=np.arange(480) % 5, random_state=0
    )


@pytest.fixture(scope="module")
def numeric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    sources = np.repeat(np.arange(3), 100)
    return source_audit(LinearRegression(), X, y, sources, random_state=0)


def test_forest_plots_show_what_the_table_has(audit):
    plots = forests(audit)
    assert [each.title for each in plots] == ["AUC", "O:E ratio", "calibration slope"]
    auc = plots[0]
    assert [row.label for row in auc.rows[-3:]] == ["mean", "a new source", "cross-validation"]
    table = audit.table()
    for row, fields in zip(auc.rows, table.rows, strict=True):
        assert row.text == fields[3].text
    assert max(row.weight for row in auc.rows) == 1.0
    display = SourceAuditDisplay.from_audit(audit)
    labels = [each.get_text() for each in display.axes_[0].get_yticklabels()]
    assert labels == [row.label for row in reversed(auc.rows)]
    assert display.axes_.shape == (3,)
    assert display.axes_[1].get_xscale() == "log"


def test_places_on_an_axis():
    linear = Forest("", (), 0.5, 1.0, False, None)
    assert [linear.place(x) for x in (0.5, 0.75, 1.0, 2.0)] == [0, 0.5, 1, 1]
    ratio = Forest("", (), 0.25, 4.0, True, 1.0)
    assert ratio.place(1.0) == pytest.approx(0.5)
    assert [text for _, text in ratio.ticks] == ["0.3", "0.5", "0.7", "1", "1.5", "2", "3"]
    assert ratio.beyond(5.0)
    assert [text for _, text in _ticks(-1.2, 1.1)] == ["\N{MINUS SIGN}1", "0", "1"]


@pytest.mark.parametrize(
    ("kind", "n_axes"), [("calibration", 7), ("decision", 7), ("risk", 7), ("learning", 1)]
)
def test_every_curve_is_named(audit, kind, n_axes):
    display = SourceAuditDisplay.from_audit(audit, kind=kind)
    assert len(display.axes_) == n_axes
    panels = panels_of(audit, kind)
    assert [ax.get_title() for ax in display.axes_] == [each.title for each in panels.panels]
    if n_axes > 1:
        names = ["all sources", *(each.source for each in audit.sources)]
        assert [each.title for each in panels.panels] == names
    drawn = display.axes_[0].lines[-1]
    np.testing.assert_allclose(
        np.column_stack([drawn.get_xdata(), drawn.get_ydata()]), panels.panels[0].lines[-1].points
    )
    shown = {text.get_text() for text in display.axes_[0].get_legend().get_texts()}
    assert shown == set(panels.labels.values())


def test_decision_curves_have_treat_all_and_treat_none(audit):
    none, treat_all, model = panels_of(audit, "decision").panels[0].lines
    assert {y for _, y in none.points} == {0.0}
    rate = audit.events / audit.n
    t, benefit = treat_all.points[10]
    assert benefit == pytest.approx(rate - (1 - rate) * t / (1 - t))
    assert [y for _, y in model.points] == list(audit.curves.net_benefit)


def test_periods(audit):
    display = SourceAuditDisplay.from_audit(audit, kind="time")
    assert [ax.get_title() for ax in display.axes_] == [
        "AUC by period", "O:E ratio by period", "AUC by period, at left-out sources",
        "O:E ratio by period, at left-out sources",
    ]  # fmt: skip


def test_a_numeric_target(numeric):
    assert [each.title for each in forests(numeric)] == ["R²", "RMSE", "calibration slope"]
    SourceAuditDisplay.from_audit(numeric, kind="calibration")
    for kind in ("decision", "risk"):
        with pytest.raises(ValueError, match="is for classes"):
            SourceAuditDisplay.from_audit(numeric, kind=kind)
    with pytest.raises(ValueError, match="six sources or more"):
        SourceAuditDisplay.from_audit(numeric, kind="learning")
    with pytest.raises(ValueError, match="kind='time' needs times"):
        SourceAuditDisplay.from_audit(numeric, kind="time")
    with pytest.raises(ValueError, match="kind='roc' is not one of: forest"):
        SourceAuditDisplay(numeric, "roc")


def test_from_an_estimator_on_given_axes():
    from matplotlib import pyplot as plt

    X, y, sources = make_multi_source(3, n_samples=150, random_state=0, return_sources=True)
    axes = plt.subplots(1, 3)[1]
    display = SourceAuditDisplay.from_estimator(
        LogisticRegression(), X, y, sources, axes=axes, random_state=0
    )
    assert display.figure_ is axes[0].figure
    assert len(display.audit.sources) == 3
