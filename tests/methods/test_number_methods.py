import numpy as np
import pytest

from ensemblage.explain import what_was_learned
from ensemblage.methods import METHODS, NUMBER_METHODS, get_method, make_model, predict_rows, train
from ensemblage.methods._method_costs import SECONDS
from ensemblage.persistence import load, save
from methods.homes import homes


@pytest.mark.parametrize("name", NUMBER_METHODS)
def test_every_method_learns_mixed_columns_and_survives_its_file(name, tmp_path):
    data = homes(source="site")
    trained = train(data, name, n_splits=2)
    before = predict_rows(trained.model, data.X)
    assert (before.classes, before.probabilities) == ((), None)
    assert np.isfinite(before.labels).all()
    save(trained.model, tmp_path / "m.skops", columns=data.feature_names, kinds=data.kinds)
    after = predict_rows(load(tmp_path / "m.skops").model, data.X)
    np.testing.assert_array_equal(before.labels, after.labels)
    assert what_was_learned(trained.fitted)[0].startswith("4 columns, encoded as ")


def test_methods_are_ours_or_baselines():
    baselines = [name for name, each in NUMBER_METHODS.items() if not each.ours]
    assert baselines == ["mean", "ridge", "svm", "forest", "boosting"]
    assert all(each.label and each.description for each in NUMBER_METHODS.values())
    assert SECONDS.keys() >= NUMBER_METHODS.keys() | METHODS.keys()


def test_methods_of_classes_and_of_numbers_are_told_apart():
    assert get_method("forest", "regression") is NUMBER_METHODS["forest"]
    with pytest.raises(
        ValueError, match=r"'logistic' predicts classes, not numbers\. There are: m"
    ):
        get_method("logistic", "regression")
    with pytest.raises(ValueError, match=r"'ridge' predicts numbers, not classes\. There are: maj"):
        get_method("ridge")
    with pytest.raises(ValueError, match=r"no method 'rigde'\. Did you mean 'ridge'"):
        get_method("rigde", "regression")


def test_the_unit_of_the_numbers_does_not_matter_to_the_svm():
    data = homes()
    said = [
        make_model("svm", data.columns, 0, task="regression").fit(data.X, unit * data.y)
        .predict(data.X) / unit
        for unit in (1.0, 1e-6)
    ]  # fmt: skip
    np.testing.assert_allclose(*said, rtol=5e-3)  # libsvm stops within 1e-3
