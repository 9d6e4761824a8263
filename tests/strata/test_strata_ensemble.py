import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import Fold
from ensemblage.fusion import Mean, Stacking
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    ClassTarget,
    MixtureStrata,
    StrataEnsembleClassifier,
    paper_ensemble,
)
from ensemblage.strata._members import (
    fit_members,
    member_tasks,
    out_of_fold_outputs,
    report_members,
    resolve_parts,
)
from ensemblage.strata._targets import Training
from made_outputs import KeepsOutputs

pytestmark = pytest.mark.filterwarnings("ignore:.*hold one class only")
STRATA = HISS(n_strata=3, stratum_size=1 / 3, random_state=0)


def iris():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "other", "third"])[y]


def fitted(X, y, *args, **options):
    return StrataEnsembleClassifier(*args, random_state=0, **options).fit(X, y)


def test_members_on_strata_learn_what_one_linear_model_cannot(groups):
    X, y = groups
    alone = LogisticRegression().fit(X, y).score(X, y)
    ensemble = fitted(X, y, STRATA, final_estimator=DecisionTreeClassifier(max_depth=4))
    assert ensemble.score(X, y) > alone + 0.1


@pytest.mark.parametrize("fusion", ["stacking", "mean", "vote", Stacking(GaussianNB()), Mean()])
@pytest.mark.parametrize("membership", ["hard", "soft"])
def test_every_fusion_gives_probabilities(fusion, membership):
    X, y = iris()
    ensemble = fitted(X, y, STRATA, fusion=fusion, membership=membership)
    probabilities = ensemble.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (ensemble.predict(X) == ensemble.classes_[probabilities.argmax(axis=1)]).all()
    assert not hasattr(ensemble, "decision_function")


@pytest.mark.parametrize("member", [SVC(kernel="linear"), RidgeClassifier()])
def test_members_without_probabilities_use_decision_values(member):
    X, y = iris()
    ensemble = fitted(X, y, STRATA, member, fusion="mean")
    assert not hasattr(ensemble, "predict_proba")
    assert ensemble.decision_function(X).shape == (150, 3)
    assert ensemble.score(X, y) > 0.5


def test_two_classes_have_one_decision_value_per_row(groups):
    X, y = groups
    ensemble = fitted(X, y, STRATA, SVC(kernel="linear"), final_estimator=SVC())
    decision = ensemble.decision_function(X)
    assert decision.shape == (120,)
    np.testing.assert_array_equal(ensemble.predict(X) == "up", decision > 0)


class OnlyPredicts(KNeighborsClassifier):
    predict_proba = property()


def test_a_member_with_predict_only():
    X, y = iris()
    strata = HISS(n_strata=3, stratum_size=0.9)
    ensemble = fitted(X, y, strata, OnlyPredicts(), final_estimator=DecisionTreeClassifier())
    assert ensemble.score(X, y) > 0.8


@pytest.mark.parametrize(
    "stratifier",
    [None, MixtureStrata(3), MixtureStrata(3, assignment="soft"), BootstrapStrata(4)],
    ids=repr,
)
def test_any_stratifier(stratifier):
    X, y = iris()
    assert fitted(X, y, stratifier).score(X, y) > 0.8


def test_a_pipeline_may_prepare_rows_for_the_stratifier():
    X, y = iris()
    scaled = make_pipeline(StandardScaler(), HISS(n_strata=3, stratum_size=0.4))
    weights = np.ones(150)
    ensemble = StrataEnsembleClassifier(scaled, random_state=0).fit(X, y, sample_weight=weights)
    assert len(ensemble.estimators_) == 3


def test_hard_members_get_as_many_rows_as_the_stratum_is_large(groups):
    X, y = groups
    ensemble = fitted(X, y, HISS(n_strata=4, stratum_size=0.25))
    np.testing.assert_array_equal(ensemble.member_sizes_, 30)


def test_a_stratum_of_one_class_gets_a_constant_member():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(30, 2)) + 50])
    y = np.array(["a", "b"] * 30 + ["c"] * 30)
    with pytest.warns(UserWarning, match=r"1 of 3 strata hold one class only.*larger or fewer"):
        ensemble = fitted(X, y, HISS(n_strata=3, stratum_size=1 / 3))
    assert len(ensemble.constant_strata_) == 1
    assert (ensemble.predict(X[60:]) == "c").all()


def test_classes_unseen_by_a_member_are_not_predicted():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 50])
    y = np.array(["a", "b"] * 30 + ["c", "d", "e"] * 20)
    for member in (LogisticRegression(), SVC(kernel="linear")):
        ensemble = fitted(X, y, HISS(n_strata=2, stratum_size=0.5), member, fusion="mean")
        assert np.isfinite(ensemble._scores(X)).all()
        assert set(ensemble.predict(X)) <= set("abcde")


class Memory(KNeighborsClassifier):
    """Remembers rows: certain of those it was fitted on, ignorant of all others."""

    def __init__(self):
        super().__init__(n_neighbors=1)

    def predict_proba(self, X):
        distance, _ = self.kneighbors(X)
        known = super().predict_proba(X)
        return np.where(distance > 0, 1 / len(self.classes_), known)


def test_out_of_fold_outputs_never_come_from_a_member_fitted_on_the_row(groups):
    X, y = groups
    fusion = KeepsOutputs()
    ensemble = fitted(X, y, STRATA, Memory(), fusion=fusion, anchor=Memory(), cv=4)
    np.testing.assert_array_equal(ensemble.fusion_.outputs_, 0.5)
    assert (ensemble._member_outputs(X)[1] != 0.5).any()


def test_rows_in_no_test_fold_are_left_out_of_the_fusion(groups):
    X, y = groups
    folds = [(np.arange(60), np.arange(60, 90)), (np.arange(90), np.arange(90, 120))]
    ensemble = fitted(X, y, HISS(n_strata=2, stratum_size=0.6), fusion=KeepsOutputs(), cv=folds)
    assert ensemble.fusion_.outputs_.shape[1] == 60
    assert ensemble.n_without_fold_ == 60


def test_a_rare_class_reduces_the_folds():
    X, y = iris()
    y[:147] = np.where(np.arange(147) % 2, "a", "b")
    y[147:] = "rare"
    with pytest.warns(UserWarning, match=r"Class .*rare.* has 3 rows, fewer than cv=5.*3 folds"):
        fitted(X, y, BootstrapStrata(3))


@pytest.mark.parametrize("cv", [3, "in-sample", KFold(3)])
def test_the_same_bits_for_any_number_of_jobs(cv):
    X, y = iris()
    member = RandomForestClassifier(n_estimators=5)
    one, two = (
        fitted(X, y, HISS(n_strata=4, stratum_size=0.5), member, cv=cv, n_jobs=n).predict_proba(X)
        for n in (1, 2)
    )
    assert one.tobytes() == two.tobytes()


def test_the_same_bits_in_separate_processes():
    code = """
import hashlib, numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from ensemblage.strata import HISS, StrataEnsembleClassifier
X, y = load_iris(return_X_y=True)
member = RandomForestClassifier(n_estimators=5)
model = StrataEnsembleClassifier(HISS(4, 0.5), member, random_state=3).fit(X, y)
strata = model.stratifier_
parts = [strata.memberships_, strata.means_, strata.covariances_, strata.log_scales_,
         strata.objective_path_, strata.transform(X), model.predict_proba(X)]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""
    runs = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
        )
        runs.append(done.stdout)
    assert runs[0] == runs[1]
    assert len(runs[0].strip()) == 64


def test_works_inside_scikit_learns_own():
    X, y = iris()
    ensemble = StrataEnsembleClassifier(
        HISS(n_strata=2, stratum_size=0.6), fusion="mean", random_state=0
    )
    binary = StrataEnsembleClassifier(
        HISS(n_strata=2, stratum_size=0.9), LogisticRegression(), random_state=0
    )
    assert OneVsRestClassifier(binary).fit(X, y).score(X, y) > 0.8
    assert OutputCodeClassifier(binary, random_state=0).fit(X, y).score(X, y) > 0.7
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ensemble),
        {"strataensembleclassifier__stratifier__stratum_size": [0.5, 0.8]},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.7


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_categories_are_passed_to_the_members(library, groups):
    frames = pytest.importorskip(library)
    X, y = groups
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "site": ["x", "y"] * 60})
    number_columns = make_column_transformer((StandardScaler(), ["a", "b"]))
    all_columns = make_column_transformer(
        (OneHotEncoder(), ["site"]), (StandardScaler(), ["a", "b"])
    )
    ensemble = fitted(
        frame,
        y,
        make_pipeline(number_columns, HISS(n_strata=3, stratum_size=0.4)),
        make_pipeline(all_columns, LogisticRegression()),
    )
    assert ensemble.predict_proba(frame).shape == (120, 2)
    assert list(ensemble.feature_names_in_) == ["a", "b", "site"]
    with pytest.raises(ValueError, match="should match those that were passed"):
        ensemble.predict(frame[["b", "a", "site"]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numeric_frames_are_arrays_to_the_members(library, groups):
    frames = pytest.importorskip(library)
    X, y = groups
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] > 0})
    ensemble = fitted(frame, y, STRATA)
    np.testing.assert_array_equal(
        ensemble.predict_proba(frame),
        fitted(np.column_stack([X, X[:, 0] > 0]), y, STRATA).predict_proba(
            np.column_stack([X, X[:, 0] > 0])
        ),
    )
    with pytest.raises(ValueError, match="should match those that were passed"):
        ensemble.predict(frame[["b", "a", "c"]])


def test_weights_reach_strata_members_and_fusion(groups):
    X, y = groups
    weights = np.where(y == "up", 50.0, 1.0)
    plain = fitted(X, y, STRATA)
    weighted = StrataEnsembleClassifier(STRATA, random_state=0).fit(X, y, sample_weight=weights)
    assert (weighted.predict(X) == "up").sum() > (plain.predict(X) == "up").sum()


def test_the_papers_preset():
    X, y = iris()
    scaler, ensemble = paper_ensemble(n_jobs=1, random_state=0)
    assert (ensemble.stratifier.n_strata, ensemble.stratifier.stratum_size) == (20, 0.4)
    assert (ensemble.estimator.kernel, ensemble.cv) == ("linear", "in-sample")
    assert scaler.feature_range == (0, 1)
    model = paper_ensemble(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model[-1].estimators_) == 20


def test_a_member_without_a_row_in_a_test_part_has_no_score():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    folds = [Fold(np.array([0, 1]), np.array([2]))]
    data = Training(X, y, ClassTarget(np.array(["no", "yes"])), np.ones(4), folds=folds)
    memberships = np.array([[1.0, 0.0], [0.6, 0.4], [0.4, 0.6], [0.0, 1.0]])
    tasks = member_tasks(resolve_parts(ClassTarget, GaussianNB(), None, Mean()), memberships, data)
    outputs = out_of_fold_outputs(tasks, data, seed=0, n_jobs=1)
    members = fit_members(tasks, data, seed=0, n_jobs=1)
    report = report_members(tasks, members, outputs, data, weights=None)
    assert [each["score"] for each in report] == [None, 0.0]
    assert report[0]["classes"] == ["no", "yes"]
