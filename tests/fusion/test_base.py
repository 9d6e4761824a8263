import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ensemblage.fusion import AnchoredGate, Fusion, FusionContext, Gate, LogPool, take_rows
from made_outputs import random_outputs


def test_the_contract_itself_fuses_nothing():
    with pytest.raises(NotImplementedError):
        Fusion().combine(random_outputs(0))


def as_decisions(outputs):
    return np.log(outputs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, as_decisions])
@pytest.mark.parametrize(
    "fusion", [Gate(), Gate(2.0), AnchoredGate(n_anchors=0), LogPool()], ids=repr
)
def test_a_fit_on_parts_is_a_fit_on_each_part(fusion, form, weighted):
    rng = np.random.default_rng(0)
    outputs, y = form(random_outputs(1, n_samples=90)), np.arange(90) % 3
    affinity = rng.normal(scale=9, size=(90, 3))
    context = FusionContext(affinity if "affinity" in fusion.needs else None)
    weights = rng.integers(1, 4, 90) if weighted else None
    parts = [np.arange(0, 90, 2), np.arange(30), np.arange(30, 90)]
    fitted = fusion.fit_parts(parts, outputs, y, context, sample_weight=weights)
    for part, each in zip(parts, fitted, strict=True):
        near = context.take(part)
        alone = clone(fusion).fit(
            outputs[:, part], y[part], near,
            sample_weight=None if weights is None else weights[part],
        )  # fmt: skip
        np.testing.assert_allclose(
            each.combine(outputs[:, part], near), alone.combine(outputs[:, part], near)
        )
    assert not hasattr(fusion, "temperature_")


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])], ids=str)
def test_a_context_of_some_rows(rows):
    known = FusionContext(affinity=np.eye(3), X=pd.DataFrame({"site": ["a", "b", "c"]}))
    some = known.take(rows)
    np.testing.assert_array_equal(some.affinity, np.eye(3)[rows])
    assert some.X["site"].tolist() == np.array(["a", "b", "c"])[rows].tolist()
    assert some.sources is None


def test_rows_are_copied():
    X = np.arange(6.0).reshape(3, 2)
    taken = take_rows(X, np.array([1]))
    taken[:] = 9
    assert X.max() == 5
