import numpy as np
import pytest

from ensemblage.methods import METHODS
from ensemblage.methods._method import INNER_FOLDS, tuned

SITES = np.array(["a", "b"])


def test_a_fit_is_told_sources_or_groups():
    pool, strata = METHODS["auto"], METHODS["strata"]
    assert pool.fit_params(SITES, new_sources=False).keys() == {"model__sources"}
    assert strata.fit_params(SITES, new_sources=False) == {}
    assert strata.fit_params(SITES, new_sources=True).keys() == {"model__groups"}
    assert pool.predict_params(SITES, new_sources=False).keys() == {"sources"}
    assert pool.predict_params(SITES, new_sources=True) == {}
    with pytest.raises(ValueError, match="'strata-sources' needs to know where rows come from"):
        METHODS["strata-sources"].fit_params(None, new_sources=False)


def test_tuning_has_inner_folds():
    search = tuned(None, {"alpha": [1.0]}, seed=3, n_jobs=None)
    assert (search.cv.n_splits, search.cv.random_state) == (INNER_FOLDS, 3)
