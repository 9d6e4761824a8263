import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemblage.evaluation._member_labels import member_labels
from ensemblage.fusion import MemberStackingClassifier
from ensemblage.strata import StrataEnsembleClassifier
from ensemblage.subspace import JointSubspaceClassifier

X, numbers = load_iris(return_X_y=True)
words = np.array(["setosa", "versicolor", "virginica"])[numbers]
shifted = numbers + 1

ENSEMBLES = {
    "forest": RandomForestClassifier(6, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 6, max_features=2, random_state=0),
    "boosting": AdaBoostClassifier(n_estimators=6, random_state=0),
    "voting": VotingClassifier([("nb", GaussianNB()), ("knn", KNeighborsClassifier())]),
    "strata": StrataEnsembleClassifier(n_strata=4, stratum_size=0.5, random_state=0),
    "subspace": JointSubspaceClassifier(n_estimators=4, random_state=0),
    "stacked": MemberStackingClassifier(RandomForestClassifier(6, random_state=0)),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(6, random_state=0)),
    "search": GridSearchCV(RandomForestClassifier(6, random_state=0), {"max_depth": [2]}, cv=2),
}


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
@pytest.mark.parametrize("y", [words, shifted], ids=["words", "shifted"])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_predict_the_ensembles_classes(name, y):
    ensemble = ENSEMBLES[name].fit(X, y)
    found = member_labels(ensemble, X)
    assert found.shape[1] == len(X)
    assert len(found) >= 2
    assert set(np.unique(found)) <= set(y)
    assert (found == y).mean() > 0.6
    # somebody agrees with the whole, or the members are not its own
    assert (found == ensemble.predict(X)).any(axis=0).mean() > 0.9


def test_a_forest_by_hand():
    forest = ENSEMBLES["forest"].fit(X, words)
    first = forest.classes_[forest.estimators_[0].predict(X).astype(int)]
    np.testing.assert_array_equal(member_labels(forest, X)[0], first)


def test_frames_and_sparse_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = RandomForestClassifier(4, random_state=0).fit(frame, words)
    expected = member_labels(forest, frame)
    bare = RandomForestClassifier(4, random_state=0).fit(X, words)
    np.testing.assert_array_equal(member_labels(bare, csr_matrix(X)), expected)


@pytest.mark.parametrize("model", [GaussianNB(), GradientBoostingClassifier(n_estimators=2)])
def test_what_has_no_members_is_refused(model):
    with pytest.raises(ValueError, match="has no members that predict its classes"):
        member_labels(model.fit(X, words), X)


def test_members_of_other_problems_are_refused():
    ensemble = RandomForestClassifier(3, random_state=0).fit(X, words)
    ensemble.estimators_ = [GaussianNB().fit(X, words == "setosa")]
    ensemble.estimators_[0].classes_ = np.array([7, 8])
    with pytest.raises(ValueError, match="solve other problems"):
        member_labels(ensemble, X)


def test_an_unfitted_ensemble_is_refused():
    with pytest.raises(NotFittedError):
        member_labels(RandomForestClassifier(), X)
