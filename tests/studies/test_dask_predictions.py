import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage.datasets import Dataset, read_table
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.studies import predict, train
from ensemblage.studies._predict import prediction_columns

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"), index=range(100, 160))


@pytest.fixture
def people(table_file):
    """A saved model of numeric and categorical columns, and its training rows."""
    dataset = Dataset.from_table(read_table(table_file), "class")
    model = train(dataset, "logistic", n_splits=2).model
    saved = SavedModel(model, dataset.feature_names, dataset.kinds, "class")
    return saved, dataset.X, pd.read_csv(table_file)


def test_a_frame_becomes_a_frame_under_its_own_index(frame):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, frame["a"] > 0)
    found = predict(model, dd.from_pandas(frame, npartitions=3))
    assert list(found.columns) == ["prediction", "probability_False", "probability_True"]
    computed = found.compute()
    assert computed.index.equals(frame.index)
    assert (computed.dtypes == found.dtypes).all()
    whole = prediction_columns(predict(model, frame))
    for name, values in whole.items():
        assert computed[name].tolist() == list(values)


def test_numbers_have_their_spread(frame):
    model = GaussianProcessRegressor(alpha=0.1).fit(frame, frame["a"])
    computed = predict(model, dd.from_pandas(frame, npartitions=2)).compute()
    assert list(computed) == ["prediction", "std", "lower", "upper"]
    np.testing.assert_allclose(computed["prediction"], model.predict(frame))


def test_a_saved_model_takes_its_columns_by_name_and_kind(people):
    saved, X, frame = people
    turned = frame[["pay", "class", "job", "age"]]
    # in the first partition every job is missing: the column stays categorical
    turned.loc[:9, "job"] = np.nan
    expected = prediction_columns(predict(saved.model, X))
    computed = predict(saved, dd.from_pandas(turned, npartitions=4)).compute()
    assert computed["prediction"].tolist()[10:] == expected["prediction"][10:]
    np.testing.assert_allclose(computed["probability_yes"][10:], expected["probability_yes"][10:])
    with pytest.raises(ValueError, match="model requires are missing: pay"):
        predict(saved, dd.from_pandas(frame[["age", "job"]], npartitions=1)).compute()


class BySource:
    """Predicts by the source."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X, sources=None):
        return np.where(np.asarray(sources) == "Bern", "yes", "no")


def test_a_model_of_sources_is_told_them(frame):
    saved = SavedModel(
        BySource(), ("a",), ("numeric",), source=SourceColumn("site", ("Bern",)), ignored=("b", "c")
    )
    with_source = frame.assign(site=["Bern", "Rome"] * 30)
    computed = predict(saved, dd.from_pandas(with_source, npartitions=2)).compute()
    assert computed["prediction"].tolist() == ["yes", "no"] * 30


def test_an_array_becomes_an_array(frame):
    model = LinearSVC().fit(frame.to_numpy(), np.where(frame["a"] > 0, "up", "down"))
    rows = da.from_array(frame.to_numpy(), chunks=(25, 2))
    found = predict(model, rows)
    assert (found.chunks, found.dtype) == (((25, 25, 10),), model.classes_.dtype)
    assert found.compute().tolist() == model.predict(frame.to_numpy()).tolist()
    with pytest.raises(ValueError, match="2-dimensional array"):
        predict(model, rows[0])
