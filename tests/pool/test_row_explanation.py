import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.fusion import LogLinearPool, Stacking
from ensemblage.pool import MemberContribution, RowExplanation
from ensemblage.pool._row_explanation import explain_classification
from made_outputs import random_outputs


@settings(max_examples=15)
@given(st.integers(0, 100))
def test_contributions_and_baseline_add_up_to_the_log_odds(seed):
    outputs = random_outputs(seed, n_samples=40)
    y = np.random.default_rng(seed).integers(0, 3, 40)
    pool = LogLinearPool(bias_penalty=1.0, temperature_scaling=True, prior_weight=1e-3).fit(
        outputs, y
    )
    decision = explain_classification(
        ["a", "b", "c"], outputs[:, :1], pool, np.array(["x", "y", "z"])
    )
    top, next_to_it = sorted(decision.probabilities)[:0:-1]
    total = sum(each.contribution for each in decision.members) + decision.baseline
    assert total == pytest.approx(np.log(top / next_to_it), abs=1e-9)
    assert decision.classes[int(np.argmax(decision.probabilities))] == decision.prediction


def test_the_largest_contribution_comes_first():
    y = np.arange(60) % 2
    informative = np.where(y[:, None] == [0, 1], 0.7, 0.3)
    outputs = np.stack([np.full((60, 2), 0.5), informative])
    fusion = LogLinearPool().fit(outputs, y)
    decision = explain_classification(
        ["uninformative", "informative"], outputs[:, :1], fusion, np.array([0, 1])
    )
    assert [each.member for each in decision.members] == ["informative", "uninformative"]
    assert (decision.prediction, decision.runner_up) == (0, 1)
    assert decision.members[0].weight == pytest.approx(1)
    lines = str(decision).splitlines()
    assert lines[0].split() == ["member", "0", "1", "weight", "contribution"]
    assert lines[3].split()[0] == "informative"
    assert "log-odds of 0 against 1" in decision._repr_html_()


def test_the_column_of_contributions_adds_up_to_the_pools_log_odds():
    members = (
        MemberContribution("a", 0.6, 0.9, (0.2, 0.8)),
        MemberContribution("b", 0.4, -0.2, (0.4, 0.6)),
    )
    table = RowExplanation("yes", members, 0.15, "no", ("no", "yes"), (0.3, 0.7)).as_table()
    shown = {row[0].text: row[-1].text.replace("\N{MINUS SIGN}", "-") for row in table.rows}
    assert shown == {"pool": "+0.85", "a": "+0.90", "b": "-0.20", "(baseline)": "+0.15"}
    assert "the pool has the total" in table.legend


def test_other_fusions_have_no_contributions():
    outputs, y = random_outputs(1), np.arange(30) % 3
    fusion = Stacking().fit(outputs, y)
    decision = explain_classification(["a", "b", "c"], outputs[:, :1], fusion, np.arange(3))
    assert {each.contribution for each in decision.members} == {None}
    assert decision.baseline is None
    assert decision.log_odds is None
    assert len(decision.as_table().rows) == 4
    assert "contribution" not in decision.as_table().legend
    np.testing.assert_allclose(decision.members[0].probabilities, outputs[0, 0])
