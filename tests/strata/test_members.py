import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from ensemblage._core import Fold
from ensemblage.bayes import BayesNetClassifier
from ensemblage.fusion import AffinityGate, AnchoredGate, Mean
from ensemblage.strata import (
    HISS,
    ClassTarget,
    ScaledLogisticRegression,
    StrataEnsembleClassifier,
    tuned_svm,
)
from ensemblage.strata._members import (
    fit_member,
    is_mixed_frame,
    member_tasks,
    out_of_fold_outputs,
    resolve_parts,
    strongest_rows,
)
from ensemblage.strata._targets import Training, mean_losses

X = np.arange(24.0).reshape(12, 2)


Y = np.array(["b", "a", "a"] * 4)


def read(X=X, y=Y, weights=None, sources=None, groups=None, encode="auto"):
    ensemble = StrataEnsembleClassifier(encode=encode)
    return ensemble._read_training(X, y, weights, groups, sources)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_strings_make_a_frame_mixed_and_booleans_do_not(frame):
    assert is_mixed_frame(frame({"a": [1.0], "b": ["x"]}))
    assert not is_mixed_frame(frame({"a": [1.0], "b": [True], "c": [2]}))
    assert not is_mixed_frame(np.array([["x"]], dtype=object))


def test_pipelines_and_networks_get_frames_as_they_are():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(site="x")
    for member in (make_pipeline(GaussianNB()), BayesNetClassifier()):
        assert StrataEnsembleClassifier(estimator=member)._encoder_for(frame) is None
    plain = StrataEnsembleClassifier(HISS(), [GaussianNB()], anchor="svm")
    assert plain._encoder_for(frame) is not None


def test_classes_become_codes_and_weights_are_ones():
    data = read()
    assert data.target.classes.tolist() == ["a", "b"]
    assert data.y.tolist() == [1, 0, 0] * 4
    assert data.sample_weight is None
    np.testing.assert_array_equal(data.weights, 1)


def test_a_frame_with_categories_stays_a_frame_if_it_is_not_encoded():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(site="x")
    assert read(frame, encode=None).X is frame
    assert read(frame).X.shape == (12, 2)  # one site does not vary
    assert isinstance(read(frame[["a", "b"]]).X, np.ndarray)


@pytest.mark.parametrize("name", ["sources", "groups"])
def test_lengths_must_agree(name):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        read(**{name: np.zeros(3)})


def test_folds_are_fewer_where_a_class_is_rare():
    rare = read(y=np.array(["a"] * 9 + ["b"] * 3))
    with pytest.warns(UserWarning, match="'b'.* has 3 rows, fewer than cv=5 folds: using 3 folds"):
        data = rare.with_folds(5, seed=0)
    assert len(data.folds) == 3


def test_folds_of_a_splitter_and_of_groups():
    folds = read().with_folds(KFold(4), seed=0).folds
    assert folds[0].test.tolist() == [0, 1, 2]
    groups = np.arange(12) // 4
    for train, test in read(groups=groups).with_folds(5, seed=0).folds:
        assert not set(groups[train]) & set(groups[test])


def test_what_was_not_given_is_none():
    assert Training(X, np.zeros(12, int), ClassTarget(np.array(["a"])), np.ones(12)).folds is None


def test_a_class_is_named_as_the_user_writes_it():
    X, y = np.zeros((7, 2)), np.array(["-2"] * 2 + ["3"] * 5)
    data = Training(X, np.array([0] * 2 + [1] * 5), ClassTarget(np.unique(y)), np.ones(7), None)
    with pytest.warns(UserWarning, match="Class '-2' has 2 rows, fewer than cv=5 folds: using 2"):
        data.with_folds(5, seed=0)


def test_the_default_is_one_kind_of_member_behind_the_fusion_itself():
    gate = AffinityGate()
    parts = resolve_parts(ClassTarget, None, None, gate)
    assert [type(member.estimator) for _, member in parts.members] == [ScaledLogisticRegression]
    assert parts.anchors == []
    assert parts.fusion is gate


def test_each_member_uses_its_most_informative_method():
    linear = LogisticRegression()
    parts = resolve_parts(ClassTarget, [linear, SVC()], ["svm", linear], Mean())
    assert [name for name, _ in parts.members] == ["predict_proba", "decision_function"]
    assert [name for name, _ in parts.anchors] == ["decision_function", "predict_proba"]


@pytest.mark.parametrize(
    ("estimator", "anchor", "n_anchors"), [(None, "svm", 1), ([SVC(), SVC()], None, 0)]
)
def test_a_gate_beside_others_is_anchored(estimator, anchor, n_anchors):
    fusion = resolve_parts(ClassTarget, estimator, anchor, AffinityGate(3.0)).fusion
    assert isinstance(fusion, AnchoredGate)
    assert (fusion.gate.temperature, fusion.n_anchors) == (3.0, n_anchors)


def test_only_members_that_get_weights_must_take_them():
    knn, linear = KNeighborsClassifier(), LogisticRegression()
    resolve_parts(ClassTarget, linear, knn, Mean(), soft=True)
    with pytest.raises(ValueError, match="membership='soft' requires members that take"):
        resolve_parts(ClassTarget, knn, None, Mean(), soft=True)
    with pytest.raises(ValueError, match="sample_weight requires members that take"):
        resolve_parts(ClassTarget, linear, knn, Mean(), weighted=True)


def test_the_tuned_svm_tries_nine_settings():
    grid = tuned_svm().param_grid
    assert [len(values) for values in grid.values()] == [3, 3]


ROWS = np.array([[0.0], [1.0], [2.0], [3.0]])
CLASSES = np.array([0, 1, 0, 1])
TARGET = ClassTarget(np.array(["no", "yes"]))
DATA = Training(ROWS, CLASSES, TARGET, np.ones(4))
MEMBERSHIPS = np.array([[1.0, 0.0], [0.6, 0.4], [0.4, 0.6], [0.0, 1.0]])


def test_the_strongest_rows_up_to_the_size_by_hand():
    # size 2: the first row, and the one of 0.6
    assert strongest_rows(MEMBERSHIPS[:, 0], np.ones(4)).tolist() == [0, 1]
    # rows of weight 3, size 4.8: the second fits by more than half
    assert strongest_rows(np.array([1.0, 0.6, 0.0, 0.0]), np.full(4, 3.0)).tolist() == [0, 1]
    assert strongest_rows(np.array([0.1, 0.0, 0.0, 0.0]), np.ones(4)).tolist() == [0]


def test_tasks_are_ordered_by_member_and_anchors_get_all_rows():
    parts = resolve_parts(ClassTarget, [GaussianNB(), LogisticRegression()], GaussianNB(), Mean())
    tasks = member_tasks(parts, MEMBERSHIPS, DATA)
    assert [task.stratum for task in tasks] == [0, 1, 0, 1, None]
    assert [task.rows.tolist() for task in tasks] == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1, 2, 3]]
    assert all(task.weights is None for task in tasks)


def test_soft_members_get_memberships_times_weights():
    parts = resolve_parts(ClassTarget, GaussianNB(), GaussianNB(), Mean(), soft=True)
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    tasks = member_tasks(parts, MEMBERSHIPS, DATA._replace(weights=weights, sample_weight=weights))
    np.testing.assert_allclose(tasks[0].weights, [1.0, 1.2, 1.2, 0.0])
    assert tasks[1].rows.tolist() == [1, 2]
    assert tasks[2].rows.tolist() == [0, 1, 2]
    assert tasks[2].weights is weights


def test_one_class_makes_a_constant_member_and_a_search_gives_its_best():
    tasks = member_tasks(
        resolve_parts(ClassTarget, GaussianNB(), None, Mean()), np.eye(4)[:, :2], DATA
    )
    assert isinstance(fit_member(tasks[0], ROWS, CLASSES, TARGET, []), DummyClassifier)
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    anchor = member_tasks(resolve_parts(ClassTarget, [], search, Mean()), np.empty((4, 0)), DATA)[0]
    assert isinstance(fit_member(anchor, ROWS, CLASSES, TARGET, [1]), LogisticRegression)


def test_rows_in_no_test_part_have_no_outputs():
    folds = [Fold(np.array([0, 1]), np.array([2]))]
    tasks = member_tasks(resolve_parts(ClassTarget, GaussianNB(), None, Mean()), MEMBERSHIPS, DATA)
    # the second stratum has no row in the fold's training part: its member learns all of that
    outputs = out_of_fold_outputs(tasks, DATA._replace(folds=folds), seed=0, n_jobs=1)
    assert np.isfinite(outputs).all(axis=(0, 2)).tolist() == [False, False, True, False]
    np.testing.assert_allclose(outputs[0, 2], outputs[1, 2])


def test_errors_by_hand():
    wrong = np.array([1.0, 0.0, np.nan, 1.0])
    memberships = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.2]])
    assert mean_losses(wrong, memberships) == ([1 / 1.5, None, 1.0], 2 / 3)


def test_nothing_known():
    assert mean_losses(np.array([np.nan]), np.ones((1, 1))) == ([None], None)
