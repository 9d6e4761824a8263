"""The strata ensembles' out-of-fold errors, where the size of the strata is chosen on folds."""

import numpy as np
import pytest

from ensemblage.strata import StrataEnsembleClassifier, StrataEnsembleRegressor
from honesty.drawn import assert_honest, draw_classes, draw_values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* strata hold one class only:UserWarning"),
]


@pytest.mark.parametrize(("n_rows", "n_draws"), [(60, 150), (200, 25)])
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_errors_of_classes(effect, n_rows, n_draws):
    told, true, smallest = [], [], []
    for draw in range(n_draws):
        train, (X, y) = draw_classes(n_rows, draw, effect)
        model = StrataEnsembleClassifier(random_state=0).fit(*train)
        told.append(model.out_of_fold_error_)
        true.append(1 - model.score(X, y))
        smallest.append(min(each["error"] for each in model.trials_))
    assert_honest(told, true, pessimism=0.02 * effect)
    assert np.mean(smallest) < np.mean(told)


@pytest.mark.parametrize(("n_rows", "n_draws"), [(60, 150), (200, 40)])
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_errors_of_values(effect, n_rows, n_draws):
    told, true = [], []
    for draw in range(n_draws):
        train, (X, y) = draw_values(n_rows, draw, effect)
        model = StrataEnsembleRegressor(random_state=0).fit(*train)
        told.append(model.out_of_fold_error_**2)
        true.append(((model.predict(X) - y) ** 2).mean())
    assert_honest(told, true, pessimism=0.1)


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_errors_of_strata(effect):
    told, true = [], []
    for draw in range(100):
        train, (X, y) = draw_classes(60, draw, effect)
        model = StrataEnsembleClassifier(random_state=0).fit(*train)
        inside, wrong = model.stratifier_.transform(X), model.predict(X) != y
        told.append(np.mean(model.stratum_errors_))
        true.append((wrong @ inside / inside.sum(axis=0)).mean())
    assert_honest(told, true, pessimism=0.02 * effect)
