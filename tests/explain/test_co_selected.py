import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import load_dataset
from ensemblage.explain import co_selected
from ensemblage.methods import make_model
from ensemblage.subspace import JointSubspaceClassifier


def test_names_of_an_encoded_table():
    wine = load_dataset("wine")
    model = make_model("subspace", wine.columns, seed=0)
    model.set_params(model__n_estimators=2, model__fusion="product", model__max_iter=5)
    found = co_selected(model.fit(wine.X, wine.y), top=4)
    assert len(found.feature_names) == 4
    assert found.matrix.shape == (4, 4)
    assert (np.diff(np.diag(found.matrix)) <= 0).all()


def test_frame_names_and_models_without_a_matrix():
    X, y = load_wine(return_X_y=True, as_frame=True)
    ensemble = JointSubspaceClassifier(2, max_iter=5, random_state=0).fit(X, y)
    assert set(co_selected(ensemble).feature_names) == set(X.columns)
    assert co_selected(LogisticRegression()) is None
