import numpy as np
import pytest

from ensemblage.strata import BootstrapStrata

X = np.arange(2000.0).reshape(1000, 2)


def test_a_bootstrap_sample_holds_about_63_percent():
    strata = BootstrapStrata(50, random_state=0).fit(X)
    assert strata.inclusion_ == pytest.approx(1 - np.exp(-1), abs=0.01)
    assert set(np.unique(strata.memberships_)) == {0.0, 1.0}


def test_new_rows_are_equally_near_to_all():
    strata = BootstrapStrata(4, random_state=0).fit(X)
    np.testing.assert_allclose(strata.transform(X[:3]), strata.inclusion_, rtol=1e-6)
    assert not strata.log_affinity(X[:3]).any()


def test_rows_without_weight_are_never_drawn():
    weights = np.repeat([0.0, 1.0], 500)
    strata = BootstrapStrata(10, 0.3, random_state=0).fit(X, sample_weight=weights)
    assert not strata.memberships_[:500].any()


def test_too_few_rows_to_draw_without_replacement():
    weights = np.repeat([0.0, 1.0], 500)
    with pytest.raises(ValueError, match="means 800 draws; expected 1 to 500"):
        BootstrapStrata(2, 0.8, replace=False).fit(X, sample_weight=weights)


def test_less_than_one_draw():
    with pytest.raises(ValueError, match="means 0 draws"):
        BootstrapStrata(2, 0.01).fit(X[:10])
