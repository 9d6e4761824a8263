import numpy as np
import pandas as pd
import pytest

from ensemblage.inner import InnerTreeClassifier
from ensemblage.pool import fit_to_probabilities, make_student
from ensemblage.pool._distillation import DistilledClasses, DistilledValues

CLASSES = np.array(["no", "yes"])


@pytest.fixture
def steps():
    """Rows, whose class is likely by a step of the first column, and the probabilities."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    likely = np.where(X[:, 0] > 0.5, 0.9, 0.2)
    y = (rng.uniform(size=300) < likely).astype(int)
    return X, np.stack([1 - likely, likely], axis=1), y


def test_a_leaf_holds_the_mean_of_the_probabilities(steps):
    X, proba, _ = steps
    tree = fit_to_probabilities(make_student("tree", 2), X, proba, CLASSES)
    assert tree.get_n_leaves() == 2
    found = tree.predict_proba([[0.9, 0, 0], [0.1, 0, 0]])[:, 1]
    np.testing.assert_allclose(found, [0.9, 0.2], atol=0.01)


def distil(model, X, proba, y):
    """Fit to the first half, and score on the second."""
    target = DistilledClasses(CLASSES)
    fitted = target.fit(model, X[:150], proba[:150])
    prior = proba[:150].mean(axis=0)
    labels = None if y is None else CLASSES[y[150:]]
    return target.score(fitted, X[150:], proba[150:], labels, prior)


@pytest.mark.parametrize("kind", ["tree", "network", "logistic"])
def test_fidelity_and_scores(steps, kind):
    X, proba, y = steps
    found = distil(make_student(kind, 8), X, proba, y)
    assert found.fidelity > 0.9
    assert found.accuracy == pytest.approx(0.85, abs=0.08)
    assert 0.3 < found.log_loss < np.log(2)
    assert set(found.model.predict(X)) == {"no", "yes"}


def test_scores_by_hand(steps):
    X, proba, y = steps
    found = distil(make_student("tree", 2), X, proba, y)
    own = found.model.predict_proba(X[150:])
    mixed = 0.999 * own + 0.001 * proba[:150].mean(axis=0)
    true = mixed[np.arange(150), y[150:]]
    assert found.log_loss == pytest.approx(-np.log(true).mean())
    assert found.accuracy == (own.argmax(axis=1) == y[150:]).mean()
    assert found.fidelity == (own.argmax(axis=1) == proba[150:].argmax(axis=1)).mean()


def test_a_class_that_no_row_is_likely_to_have(steps):
    X, proba, _ = steps
    certain = np.column_stack([np.zeros(150), np.ones(150)])
    fitted = fit_to_probabilities(make_student("tree", 2), X[:150], certain, CLASSES)
    prior = np.array([0.5, 0.5])
    found = DistilledClasses(CLASSES).score(fitted, X[:1], proba[:1], ["no"], prior)
    assert found.log_loss == pytest.approx(-np.log(0.0005))


def test_without_classes_there_is_fidelity_only(steps):
    X, proba, _ = steps
    found = distil(make_student("tree", 4), X, proba, None)
    assert found.fidelity > 0.99
    assert (found.log_loss, found.accuracy) == (None, None)


@pytest.mark.parametrize("kind", ["tree", "network", "logistic"])
def test_categories_and_missing_values(steps, kind):
    X, proba, y = steps
    categories = np.where(proba[:, 1] > 0.5, "up", "down").astype(object)
    categories[:3] = None
    number = np.where(X[:, 1] < 0.1, np.nan, X[:, 1])
    frame = pd.DataFrame({"step": categories, "number": number})
    found = distil(make_student(kind, 4, encoded=True), frame, proba, y)
    assert found.fidelity > 0.98
    assert found.log_loss < 0.5
    assert found.model.predict_proba(frame[:3]).shape == (3, 2)


def test_copies_of_a_row_are_in_one_fold_of_the_tree(steps, monkeypatch):
    X, proba, _ = steps
    given = []

    def fit(self, X, y, sample_weight=None, groups=None):
        given.extend([len(X), len(y), sample_weight.sum(), groups])
        return self

    monkeypatch.setattr(InnerTreeClassifier, "fit", fit)
    fit_to_probabilities(InnerTreeClassifier(), X, proba, CLASSES)
    assert given[:3] == [600, 600, pytest.approx(300)]
    assert given[3].tolist() == [row for row in range(300) for _ in range(2)]


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"kind='trees' is unknown. Did you mean 'tree'\?"):
        make_student("trees", 4)


@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_numbers_by_hand(steps, kind):
    X, proba, y = steps
    outputs = np.column_stack([X[:, 1] + proba[:, 1], np.ones(300)])
    target = DistilledValues()
    student = make_student(kind, 8, numeric=True)
    fitted = target.fit(student, X[:150], outputs[:150])
    found = target.score(fitted, X[150:], outputs[150:], y[150:], outputs[:150].mean(axis=0))
    own, mean = fitted.predict(X[150:]), outputs[150:, 0]
    explained = 1 - ((mean - own) ** 2).sum() / ((mean - mean.mean()) ** 2).sum()
    assert found.fidelity == pytest.approx(explained)
    assert found.fidelity > 0.7
    assert found.rmse == pytest.approx(np.sqrt(((own - y[150:]) ** 2).mean()))
    alone = target.score(fitted, X[150:], outputs[150:], None, outputs[:150].mean(axis=0))
    assert (alone.rmse, alone.accuracy, alone.log_loss) == (None, None, None)
