import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from ensemblage.fusion import Mean
from ensemblage.parallel import Fold
from ensemblage.strata._strata_recipe import make_recipe
from ensemblage.strata._strata_rows import Training
from ensemblage.strata._strata_targets import ClassTarget
from ensemblage.strata._stratum_members import fit_member, hard_rows, held_out_outputs, plan_jobs

ROWS = np.array([[0.0], [1.0], [2.0], [3.0]])
CLASSES = np.array([0, 1, 0, 1])
TARGET = ClassTarget(np.array(["no", "yes"]))
DATA = Training(ROWS, CLASSES, TARGET, np.ones(4))
MEMBERSHIPS = np.array([[1.0, 0.0], [0.6, 0.4], [0.4, 0.6], [0.0, 1.0]])


def test_the_strongest_rows_up_to_the_size_by_hand():
    # size 2: the first row, and the one of 0.6
    assert hard_rows(MEMBERSHIPS[:, 0], np.ones(4)).tolist() == [0, 1]
    # rows of weight 3, size 4.8: the second fits by more than half
    assert hard_rows(np.array([1.0, 0.6, 0.0, 0.0]), np.full(4, 3.0)).tolist() == [0, 1]
    assert hard_rows(np.array([0.1, 0.0, 0.0, 0.0]), np.ones(4)).tolist() == [0]


def test_jobs_go_kind_by_kind_and_anchors_get_all_rows():
    recipe = make_recipe([GaussianNB(), LogisticRegression()], GaussianNB(), Mean())
    jobs = plan_jobs(recipe, MEMBERSHIPS, DATA)
    assert [job.stratum for job in jobs] == [0, 1, 0, 1, None]
    assert [job.rows.tolist() for job in jobs] == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1, 2, 3]]
    assert all(job.weights is None for job in jobs)


def test_soft_members_get_memberships_times_weights():
    recipe = make_recipe(GaussianNB(), GaussianNB(), Mean(), soft=True)
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    jobs = plan_jobs(recipe, MEMBERSHIPS, DATA._replace(weights=weights, sample_weight=weights))
    np.testing.assert_allclose(jobs[0].weights, [1.0, 1.2, 1.2, 0.0])
    assert jobs[1].rows.tolist() == [1, 2]
    assert jobs[2].rows.tolist() == [0, 1, 2]
    assert jobs[2].weights is weights


def test_one_class_makes_a_constant_member_and_a_search_gives_its_best():
    jobs = plan_jobs(make_recipe(GaussianNB(), None, Mean()), np.eye(4)[:, :2], DATA)
    assert isinstance(fit_member(jobs[0], ROWS, CLASSES, TARGET, []), DummyClassifier)
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    anchor = plan_jobs(make_recipe([], search, Mean()), np.empty((4, 0)), DATA)[0]
    assert isinstance(fit_member(anchor, ROWS, CLASSES, TARGET, [1]), LogisticRegression)


def test_rows_in_no_test_part_have_no_outputs():
    folds = [Fold(np.array([0, 1]), np.array([2]))]
    jobs = plan_jobs(make_recipe(GaussianNB(), None, Mean()), MEMBERSHIPS, DATA)
    # the second stratum has no row in the fold's training part: its member learns all of that
    outputs = held_out_outputs(jobs, DATA._replace(folds=folds), seed=0, n_jobs=1)
    assert np.isfinite(outputs).all(axis=(0, 2)).tolist() == [False, False, True, False]
    np.testing.assert_allclose(outputs[0, 2], outputs[1, 2])
