"""Scores that pools and distilled models report of themselves, against those of new rows."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification, make_friedman1
from sklearn.model_selection import train_test_split

from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def differences(model, X_new, y_new):
    """Return told minus true of log loss and score: of the pool, and the mean of its members.

    A member is evaluated on new rows as on the leaderboard: alone, and calibrated to its
    out-of-fold outputs. One without a weight is not refitted, and left out.
    """
    record, target = model.out_of_fold_, model._target()
    if isinstance(model, EnsemblageRegressor):
        y, fused = y_new, np.column_stack(model.predict(X_new, return_std=True)) ** (1, 2)
    else:
        y, fused = np.searchsorted(model.classes_, y_new), model.predict_proba(X_new)
    true = {"pool": fused}
    for name, outputs in zip(model.member_names_, model._member_outputs(X_new), strict=True):
        own = record.outputs[record.names.index(name)][None].astype(float)
        alone = target.calibrator().fit(own, record.y, numeric=record.numeric)
        true[name] = alone.combine(outputs[None])
    found = {}
    for row in model.leaderboard_:
        if row.member in true:
            log_loss = target.reported_losses(true[row.member], y).mean()
            score = target.score(true[row.member], y, None)
            found[row.member] = (row.log_loss - log_loss, row.score - score)
    return found.pop("pool"), np.mean(list(found.values()), axis=0)


def errors_from_zero(values):
    """Mean of each column of draws, in standard errors."""
    values = np.asarray(values)
    return values.mean(axis=0) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def noise(seed, n_new=400):
    """100 balanced rows of ten columns without any signal, and new ones."""
    X = np.random.default_rng(seed).normal(size=(100 + n_new, 10))
    y = np.arange(100 + n_new) % 2
    return X[:100], X[100:], y[:100], y[100:]


def is_covered(model, X_new, y_new):
    """Whether 95 % intervals hold the pool's log loss and score on new rows."""
    told, (pool, _) = model.leaderboard_[0], differences(model, X_new, y_new)
    return np.abs(pool) < 1.96 * np.array([told.log_loss_se, told.score_se])


@pytest.fixture(scope="module")
def noise_draws():
    """Of 40 draws of noise: reported scores by member, told minus true, coverage of intervals."""
    scores, pool, members, covered = [], [], [], []
    for seed in range(40):
        X, X_new, y, y_new = noise(seed)
        model = EnsemblageClassifier(random_state=seed).fit(X, y)
        found = differences(model, X_new, y_new)
        scores.append({row.member: row.score for row in model.leaderboard_})
        pool.append(found[0])
        members.append(found[1])
        covered.append(is_covered(model, X_new, y_new))
    return scores, np.array(pool), np.array(members), np.array(covered)


def test_accuracy_on_noise_is_that_of_guessing(noise_draws):
    scores, pool, members, covered = noise_draws
    told = np.column_stack([[each["pool"] - 0.5 for each in scores], pool[:, 1], members[:, 1]])
    assert np.abs(errors_from_zero(told)).max() < 2
    assert covered.mean(axis=0).min() > 0.85


# Choices on the other folds keep part of the selection bias; see decision 0018.
@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="35 to 66 % of the selection bias is left on noise"
)
@pytest.mark.parametrize("name", ["svm", "boosting"])
def test_scores_of_tuned_members_on_noise(noise_draws, name):
    scores, *_ = noise_draws
    told = [each[name] - 0.5 for each in scores]
    assert np.abs(errors_from_zero(np.reshape(told, (-1, 1)))).max() < 2


def signals(seed):
    """Three tables, each in a half to fit and a half of new rows."""
    yield load_breast_cancer(return_X_y=True)
    for columns, noise, distance in ((10, 0.2, 0.8), (20, 0.1, 0.6)):
        yield make_classification(
            600, columns, n_informative=4, flip_y=noise, class_sep=distance, random_state=seed
        )


def test_scores_on_signal_are_those_of_new_rows():
    told, covered = [], []
    for seed in range(10):
        for table in signals(seed):
            X, X_new, y, y_new = train_test_split(
                *table, test_size=0.5, stratify=table[1], random_state=seed
            )
            model = EnsemblageClassifier(random_state=seed).fit(X, y)
            told.append(np.concatenate(differences(model, X_new, y_new)))
            covered.append(is_covered(model, X_new, y_new))
    assert np.abs(errors_from_zero(told)).max() < 2
    assert np.mean(covered, axis=0).min() > 0.85


def numeric_tables(seed):
    rng = np.random.default_rng(seed)
    yield rng.normal(size=(500, 10)), rng.normal(size=500), 100
    yield *load_diabetes(return_X_y=True), 221
    yield *make_friedman1(600, noise=2.0, random_state=seed), 200


def test_regression_scores_are_those_of_new_rows():
    told = []
    for seed in range(15):
        for *table, n_rows in numeric_tables(seed):
            X, X_new, y, y_new = train_test_split(*table, train_size=n_rows, random_state=seed)
            model = EnsemblageRegressor(random_state=seed).fit(X, y)
            pool, members = differences(model, X_new, y_new)
            told.append([pool[0], pool[1] / y.std(), members[0], members[1] / y.std()])
    told = np.reshape(told, (15, 3, 4))
    for table in range(3):
        assert np.abs(errors_from_zero(told[:, table])).max() < 2, table


def test_scores_of_distilled_models_are_those_of_new_rows():
    told = []
    for seed in range(20):
        table = make_classification(
            1080, 10, n_informative=4, flip_y=0.1, class_sep=1.0, random_state=seed
        )
        X, X_new, y, y_new = train_test_split(*table, train_size=80, random_state=seed)
        pool = EnsemblageClassifier(["logistic", "svm", "forest"], random_state=seed).fit(X, y)
        for kind in ("tree", "logistic"):
            found = pool.distill(
                X, kind=kind, out_of_fold=True, X_test=X_new[:200], y_test=y_new[:200]
            )
            true = found.model.predict_proba(X_new[200:])
            agree = found.model.predict(X_new[200:]) == pool.predict(X_new[200:])
            right = found.model.predict(X_new[200:]) == y_new[200:]
            losses = -np.log(0.999 * true[np.arange(len(right)), y_new[200:]] + 0.0005)
            told.append(
                [
                    found.log_loss - losses.mean(),
                    found.accuracy - right.mean(),
                    found.fidelity - agree.mean(),
                ]
            )
            alone = pool.distill(X, kind=kind, out_of_fold=True)
            assert (alone.fidelity, alone.log_loss, alone.accuracy) == (None, None, None)
    assert np.abs(errors_from_zero(told)).max() < 2
