import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from ensemblage.parallel import draw_seeds, set_seed, spread_seeds


def test_seeds_are_distinct_repeatable_and_fit_scikit_learn():
    seeds = draw_seeds(0, 1000)
    assert seeds == draw_seeds(0, 1000)
    # published figures hang on these
    assert seeds[:3] == [379343378, 1004485355, 574019116]
    assert seeds[:10] == draw_seeds(0, 10)
    assert len(set(seeds)) == 1000
    assert min(seeds) >= 0
    assert max(seeds) < 2**31


def test_a_generator_moves_on():
    rng = np.random.RandomState(0)
    assert draw_seeds(rng, 3) != draw_seeds(rng, 3)


def test_nested_random_states_are_all_set():
    model = set_seed(make_pipeline(SVC(), LogisticRegression()), 7)
    params = model.get_params()
    assert params["svc__random_state"] != params["logisticregression__random_state"]
    assert params["svc__random_state"] is not None
    assert (
        set_seed(make_pipeline(SVC(), LogisticRegression()), 7).get_params()["svc__random_state"]
        == params["svc__random_state"]
    )


def test_spreading_seeds_is_drawing_from_each():
    assert spread_seeds([3, 8], [2, 4]) == [draw_seeds(3, 2), draw_seeds(8, 4)]
