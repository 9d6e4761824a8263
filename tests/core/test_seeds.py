import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import EstimatorTemplate, draw_seeds, draw_seeds_each, set_seed


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


def test_seeds_of_many_equal_seeds_of_each():
    assert draw_seeds_each([3, 8], [2, 4]) == [draw_seeds(3, 2), draw_seeds(8, 4)]


ESTIMATORS = [
    SVC(C=3.0),
    make_pipeline(StandardScaler(), LogisticRegression(random_state=np.random.RandomState(0))),
    BaggingClassifier(DecisionTreeClassifier(max_depth=2)),
    StandardScaler(),
]


def through_a_pickle(blueprint):
    """What a worker process gets."""
    return pickle.loads(pickle.dumps(blueprint))  # noqa: S301


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_a_copy_is_a_clone_with_seeds(estimator):
    blueprint = EstimatorTemplate(estimator)
    built = blueprint.build(draw_seeds(7, blueprint.n_seeds))
    assert type(built) is type(estimator)
    assert repr(built.get_params()) == repr(set_seed(clone(estimator), 7).get_params())
    sent = through_a_pickle(blueprint)
    assert repr(sent.build(draw_seeds(7, sent.n_seeds))) == repr(built)


def test_copies_share_nothing_and_the_original_stays_as_it_is():
    estimator = make_pipeline(StandardScaler(), SVC(class_weight={0: 1.0, 1: 2.0}, random_state=3))
    blueprint = EstimatorTemplate(estimator)
    first, second = blueprint.build([1]), blueprint.build([2])
    first.fit([[0.0], [1.0]], [0, 1])
    first[-1].class_weight[0] = 9.0
    assert (first[-1].random_state, second[-1].random_state) == (1, 2)
    assert second[-1].class_weight == estimator[-1].class_weight == {0: 1.0, 1: 2.0}
    assert estimator[-1].random_state == 3
    assert not hasattr(second[0], "mean_")


def test_what_clones_share_is_shared():
    scaler = FrozenEstimator(StandardScaler().fit([[0.0], [2.0]]))
    built = EstimatorTemplate(make_pipeline(scaler, SVC())).build([1])
    assert built[0] is clone(scaler) is scaler
    again = through_a_pickle(EstimatorTemplate(make_pipeline(scaler, SVC())))
    assert again.build([1])[0] is again.build([2])[0]


@pytest.mark.usefixtures("callbacks")
def test_callbacks_are_shared():
    watched = LogisticRegression()
    watched._skl_callbacks = [object()]
    assert EstimatorTemplate(watched).build([1])._skl_callbacks is watched._skl_callbacks


def test_a_wrong_number_of_seeds_is_refused():
    with pytest.raises(ValueError, match="zip"):
        EstimatorTemplate(SVC()).build([1, 2])


def test_seeds_drawn_together_are_those_drawn_one_by_one():
    assert draw_seeds_each([3, 2**31 - 1, 3], [2, 1, 0]) == [
        draw_seeds(3, 2), draw_seeds(2**31 - 1, 1), [],
    ]  # fmt: skip
