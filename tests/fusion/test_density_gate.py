import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.fusion import AnchoredGate, DensityGate, DensityPool, FusionContext
from ensemblage.fusion._affinity_gate import TEMPERATURES
from ensemblage.fusion._residual_spread import as_normals
from ensemblage.kernels import normal_log_density


def made(seed, n_rows=300):
    """Two members, each right on its own half of the rows."""
    rng = np.random.default_rng(seed)
    half, y = np.arange(n_rows) % 2, rng.normal(size=n_rows)
    said = np.where(np.arange(2)[:, None] == half, y + 0.1 * rng.normal(size=n_rows), 3.0)
    outputs = np.stack([said, np.ones((2, n_rows))], axis=2)
    near = np.where(half[:, None] == np.arange(2), 0.0, -8.0)
    return outputs, y, FusionContext(affinity=near, strata=half)


def test_each_row_listens_to_its_own_member_and_knows_its_spread():
    outputs, y, rows = made(0)
    gate = DensityGate().fit(outputs, y, rows)
    mean, variance = gate.combine(outputs, rows).T
    assert np.abs(mean - y).mean() < 0.15
    assert np.sqrt(variance).mean() == pytest.approx(0.1, rel=0.5)
    np.testing.assert_allclose(gate.row_weights(outputs, rows).sum(axis=1), 1)
    assert gate.importance(2) is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_no_other_temperature_has_a_better_log_score(seed):
    outputs, y, rows = made(seed, n_rows=60)
    best, *others = [
        normal_log_density(as_normals(gate.fit(outputs, y, rows).combine(outputs, rows)), y).sum()
        for gate in [DensityGate(), *map(DensityGate, TEMPERATURES.tolist())]
    ]
    assert best >= max(others) - 1e-9


def test_parts_learn_as_if_alone():
    outputs, y, rows = made(1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    parts = [np.arange(0, 200), np.arange(100, 300)]
    together = DensityGate().fit_parts(parts, outputs, y, rows, sample_weight=weights)
    for part, gate in zip(parts, together, strict=True):
        alone = DensityGate().fit(
            outputs[:, part], y[part], rows.take(part), sample_weight=weights[part]
        )
        assert gate.temperature_ == alone.temperature_
        np.testing.assert_allclose(gate.factors_, alone.factors_)


def test_a_gate_of_densities_takes_an_anchor():
    outputs, y, rows = made(2)
    anchor = np.column_stack([y + 0.5, np.ones(len(y))])[None]
    every = np.concatenate([outputs, anchor])
    fusion = AnchoredGate(DensityGate(), DensityPool(by_stratum=True)).fit(every, y, rows)
    assert fusion.needs == {"affinity", "strata"}
    assert fusion.combine(every, rows).shape == (300, 2)
    assert fusion.importance(3)[2] < 0.5
    np.testing.assert_allclose(fusion.row_weights(every, rows).sum(axis=1), 1)
