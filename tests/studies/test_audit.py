from dataclasses import replace

import msgspec
import numpy as np
import pytest

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.persistence import SavedModel
from ensemblage.studies import (
    AuditDocument,
    ExperimentInterrupt,
    ResultStore,
    audit,
    make_model,
)


@pytest.fixture(scope="module")
def sites():
    rng = np.random.default_rng(0)
    X = np.empty((180, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.normal(size=180), rng.choice(["cook", "smith", None], 180)
    y = np.where(X[:, 0].astype(float) + rng.logistic(size=180) > 0, "ill", "well")
    sources = np.repeat(["north", "south", "west"], 60)
    return Dataset("sites", X, y, ("age", "job"), ("numeric", "categorical"), sources=sources)


def test_categorical_columns_names_and_progress(sites):
    calls = []
    found = audit(sites, "logistic", n_splits=3, progress=lambda *place: calls.append(place))
    assert [each.source for each in found.sources] == ["north", "south", "west"]
    assert {each.column for each in found.column_shifts} == {"age", "job"}
    assert found.sentences[0].startswith("Expected AUC at a new source: 0.")
    assert found.data.sources == {"north": 60, "south": 60, "west": 60}
    # three folds and three sources, of the model and of the regression
    assert calls[0] == (0, 12)
    assert calls[-1] == (12, 12)
    assert msgspec.json.decode(msgspec.json.encode(found), type=AuditDocument) == found


def test_the_method_of_a_saved_model(sites):
    fitted = make_model("logistic", sites.columns, 0).fit(sites.X, sites.y)
    saved = SavedModel(fitted, sites.feature_names, sites.kinds, classes=("ill", "well"))
    turned = replace(
        sites, X=sites.X[:, ::-1], feature_names=("job", "age"), kinds=("categorical", "numeric")
    )
    found = audit(turned, saved, name="m.skops", learning_curve=False)
    same = audit(sites, "logistic", learning_curve=False)
    assert found.summary == same.summary
    assert (found.method, found.label) == ("m.skops", "the method of m.skops")
    with pytest.raises(ValueError, match="requires are missing: job"):
        audit(replace(sites, feature_names=("age", "trade")), saved)


def test_a_column_of_times_is_no_feature(sites):
    days = np.arange(180.0) * 12
    timed = replace(
        sites, X=np.column_stack([sites.X, days]).astype(object),
        feature_names=("age", "job", "seen"), kinds=("numeric", "categorical", "date"),
    )  # fmt: skip
    found = audit(timed, "logistic", time="seen", learning_curve=False)
    assert [each.source for each in found.time[0].periods] == [str(y) for y in range(1971, 1976)]
    assert found.summary == audit(sites, "logistic", learning_curve=False).summary
    with pytest.raises(ValueError, match=r"no column 'sen'\. Did you mean 'seen'"):
        audit(timed, "logistic", time="sen")


def test_an_interrupted_audit_resumes(sites, tmp_path):
    def interrupt(done, total):
        calls.append((done, total))
        if done == 5:
            raise KeyboardInterrupt

    options, calls = {"n_splits": 3, "learning_curve": False}, []
    with ResultStore(tmp_path / "r.sqlite") as store:
        with pytest.raises(
            ExperimentInterrupt,
            match=r"Interrupted after 5 of 12 fits; run the same command again to resume\.",
        ):
            audit(sites, "logistic", store=store, progress=interrupt, **options)
        assert len(store) == 5
    del calls[:]
    with ResultStore(tmp_path / "r.sqlite") as store:
        found = audit(
            sites, "logistic", store=store, progress=lambda *p: calls.append(p), **options
        )
        assert calls[0] == (5, 12)
        assert len(store) == len({each.cell.key for each in store}) == 12
    assert found == audit(sites, "logistic", **options)
    with pytest.raises(KeyboardInterrupt) as stop:
        audit(sites, "logistic", progress=interrupt, **options)
    assert str(stop.value) == ""


def test_a_dataset_without_sources_is_refused():
    with pytest.raises(ValueError, match="needs the source of each row, or its time"):
        audit(load_dataset("iris"))


def test_a_method_without_probabilities_is_refused(sites):
    with pytest.raises(ValueError, match="'svm' gives no probabilities"):
        audit(sites, "svm")
