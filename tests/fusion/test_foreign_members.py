import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ensemblage.fusion import members_of

X, numbers = load_iris(return_X_y=True)
WORDS = np.array(["x", "y", "z"])[numbers]


@pytest.mark.parametrize(
    "ensemble",
    [
        AdaBoostClassifier(n_estimators=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 3, max_features=2, random_state=0),
        RandomForestClassifier(3, random_state=0),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("y", [WORDS, numbers + 1], ids=["words", "shifted"])
def test_labels_numbers_and_floats_all_become_numbers(ensemble, y):
    members = members_of(ensemble.fit(X, y))
    assert len(members) == 3
    for member in members:
        found = member.predict(X)
        assert found.dtype.kind == "i"
        assert (found == numbers).mean() > 0.6
        np.testing.assert_array_equal(found, member.predict_proba(X).argmax(axis=1))


def test_members_that_tell_one_class_from_the_rest_are_refused():
    each_class = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X, numbers)
    with pytest.raises(ValueError, match="solve other problems"):
        members_of(each_class)


def test_an_ensemble_without_members():
    empty = RandomForestClassifier(2, random_state=0).fit(X, numbers)
    empty.estimators_ = []
    for model in (GaussianNB().fit(X, numbers), empty):
        with pytest.raises(ValueError, match="has no members that predict its classes: it has no"):
            members_of(model)
