"""Sources, groups, anchors, automatic sizes, and looking inside."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import make_folds
from ensemblage.fusion import AnchoredGate, LocalCompetence
from ensemblage.sources import SourceStrata
from ensemblage.strata import HISS, BootstrapStrata, StrataEnsembleClassifier, _targets
from made_outputs import KeepsOutputs

pytestmark = pytest.mark.filterwarnings("ignore:.*hold one class only")
STRATA = HISS(n_strata=3, stratum_size=1 / 3)


@pytest.fixture
def sources(groups):
    """Where the rows of ``groups`` come from."""
    return np.repeat(["north", "south", "west"], 40)


def fitted(X, y, *args, fit=None, **options):
    model = StrataEnsembleClassifier(*args, random_state=0, **options)
    return model.fit(X, y, **(fit or {}))


def test_a_gate_learns_the_rule_of_each_source(groups):
    X, y = groups
    alone = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y).score(X, y)
    assert fitted(X, y, STRATA).score(X, y) > max(0.9, alone + 0.2)


def test_known_sources_are_not_needed_at_prediction(groups, sources):
    X, y = groups
    model = fitted(X, y, SourceStrata(), fit={"sources": sources})
    assert model.stratifier_.stratum_names_ == ["north", "south", "west"]
    assert model.score(X, y) > 0.9


def test_sources_are_routed_as_metadata(groups, sources):
    X, y = groups
    with sklearn.config_context(enable_metadata_routing=True):
        model = StrataEnsembleClassifier(SourceStrata(), random_state=0)
        model.set_fit_request(sources=True)
        pipeline = make_pipeline(StandardScaler(), model)
        scores = cross_validate(
            pipeline, X, y, params={"sources": sources}, cv=KFold(3, shuffle=True)
        )
    assert scores["test_score"].mean() > 0.8


def test_sources_for_a_stratifier_without_sources(groups, sources):
    with pytest.raises(ValueError, match=r"sources was given, but HISS.fit does not take it"):
        fitted(*groups, STRATA, fit={"sources": sources})


class KeepsRows(GaussianNB):
    """Remembers the groups of the rows it saw: the last column."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = set(X[:, -1])
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        shares = super().predict_proba(X)
        known = np.isin(X[:, -1], list(self.seen_))
        shares[known] = -1.0  # a mark that would show in what the fusion sees
        return shares


@pytest.mark.parametrize("cv", [4, GroupKFold(3)])
def test_groups_are_never_split(groups, cv):
    X, y = groups
    group = np.arange(120) % 12
    rows = np.column_stack([X, group])
    model = fitted(
        rows, y, HISS(2, 0.8), KeepsRows(), anchor=KeepsRows(), fusion=KeepsOutputs(), cv=cv,
        fit={"groups": group},
    )  # fmt: skip
    assert (model.fusion_.outputs_ >= 0).all()
    straddling = fitted(rows, y, HISS(2, 0.8), KeepsRows(), fusion=KeepsOutputs(), cv=4)
    assert (straddling.fusion_.outputs_ < 0).any()


def test_one_group_cannot_be_split(groups):
    with pytest.raises(ValueError, match="groups has 1 group"):
        fitted(*groups, STRATA, fit={"groups": np.zeros(120)})


def test_time_series_splits(groups):
    X, y = groups
    order = np.random.default_rng(0).permutation(120)
    model = fitted(X[order], y[order], HISS(2, 0.6), cv=TimeSeriesSplit(4))
    assert model.n_without_fold_ == 24
    assert model.score(X, y) > 0.5


def test_an_anchor_keeps_the_ensemble_from_losing(groups):
    X, y = groups
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    model = fitted(X, y, BootstrapStrata(3), anchor=tree)
    assert isinstance(model.fusion_, AnchoredGate)
    assert model.score(X, y) > 0.9
    assert model.member_report_[-1]["stratum"] is None
    assert model.member_report_[-1]["weight"] > 0.5


def test_the_anchor_svm_is_tuned(groups):
    model = fitted(*groups, STRATA, anchor="svm")
    assert model.anchors_[0][-1].kernel == "rbf"
    assert model.predict_proba(groups[0]).shape == (120, 2)


def test_an_unknown_anchor(groups):
    with pytest.raises(ValueError, match="anchor='forest' is unknown"):
        fitted(*groups, STRATA, anchor="forest")


def test_several_kinds_of_member_on_each_stratum(groups):
    kinds = [LogisticRegression(), GaussianNB()]
    model = fitted(*groups, STRATA, kinds)
    assert len(model.estimators_) == 6
    assert [row["estimator"] for row in model.member_report_[::3]] == [
        "LogisticRegression",
        "GaussianNB",
    ]
    np.testing.assert_allclose(model.predict_proba(groups[0]).sum(axis=1), 1)


def test_the_size_of_the_strata_is_chosen_out_of_fold(groups):
    X, y = groups
    model = fitted(X, y, n_strata=6)
    assert [trial["stratum_size"] for trial in model.trials_] == [0.2, 0.4]
    best = min(model.trials_, key=lambda trial: trial["error"])
    assert model.stratum_size_ == best["stratum_size"]
    assert len(model.estimators_) == model.n_strata_ == 6


def test_a_given_size_or_none_is_not_chosen(groups):
    X, y = groups
    assert fitted(X, y, HISS(4, 0.3)).trials_ == []
    assert fitted(X, y, HISS(4, 0.3)).stratum_size_ == 0.3
    assert fitted(X, y, HISS(4, 0.3), stratum_size=0.5, n_strata=2).n_strata_ == 2
    assert fitted(X, y, stratum_size=0.25).trials_ == []
    assert len(fitted(X, y, HISS(), stratum_size="auto", n_strata="auto").trials_) > 1


def test_every_member_is_described(groups):
    X, y = groups
    report = fitted(X, y, STRATA).member_report_
    assert [row["stratum"] for row in report] == [0, 1, 2]
    assert {row["n_rows"] for row in report} == {40}
    assert all(row["classes"] == ["down", "up"] for row in report)
    assert all(row["score"] > 0.8 for row in report)
    assert report[0]["weight"] is None
    assert fitted(X, y, STRATA, fusion="mean").member_report_[0]["weight"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("options", [{}, {"anchor": GaussianNB()}, {"fusion": "stacking"}])
def test_a_row_is_explained(groups, options):
    X, y = groups
    model = fitted(X, y, STRATA, **options)
    explained = model.explain_row(X[0])
    assert explained["prediction"] == model.predict(X[:1])[0]
    np.testing.assert_allclose(explained["scores"], model.predict_proba(X[:1])[0])
    assert explained["strata"].shape == (3,)
    assert explained["members"].shape == (3 + len(model.anchors_), 2)
    assert explained["weights"].sum() == pytest.approx(1)
    if not options:
        assert explained["weights"].argmax() == explained["strata"].argmax()


def test_a_row_of_a_frame_is_explained(groups):
    pd = pytest.importorskip("pandas")
    X, y = groups
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = fitted(frame, y, STRATA)
    assert model.explain_row(frame.iloc[[5]])["prediction"] == model.predict(frame.iloc[[5]])[0]


def test_local_competence_uses_neighbouring_rows(groups):
    X, y = groups
    model = fitted(X, y, STRATA, fusion=LocalCompetence(10))
    alone = LogisticRegression().fit(X, y).score(X, y)
    assert model.fusion_.neighbors_.n_features_in_ == 2
    assert model.score(X, y) > alone + 0.1
    explained = model.explain_row(X[0])
    assert explained["weights"].argmax() == explained["strata"].argmax()
    assert model.member_report_[0]["weight"] is None


def test_local_competence_where_strata_lack_classes():
    X, y = load_iris(return_X_y=True)
    model = fitted(X, y, HISS(3, 0.4), fusion=LocalCompetence())
    assert {len(row["classes"]) for row in model.member_report_} == {2}
    assert model.score(X, y) > 0.85


class MustNotBeFitted(HISS):
    def fit(self, X, y=None, sample_weight=None):
        raise AssertionError("work was done")


def test_a_fusion_that_needs_numeric_columns_is_rejected_before_the_fit(groups):
    pd = pytest.importorskip("pandas")
    X, y = groups
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(site="x")
    with pytest.raises(ValueError, match=r"LocalCompetence\(\) needs the rows"):
        fitted(frame, y, MustNotBeFitted(), fusion=LocalCompetence(), encode=None)


def test_what_was_resolved_in_fit_is_kept(groups):
    X, y = groups
    model = fitted(X, y, STRATA, [LogisticRegression(), SVC()], anchor=GaussianNB())
    assert model.response_methods_ == ["predict_proba"] * 3 + ["decision_function"] * 3 + [
        "predict_proba"
    ]
    before = model.predict_proba(X)
    model.set_params(estimator=None, anchor="svm", fusion="mean")
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("piped", [False, True])
def test_groups_beside_a_group_wise_cv_reach_the_members_without_a_request(piped, monkeypatch):
    seen = []

    def record(labels, n_folds, seed, groups):
        seen.append(groups)
        return make_folds(labels, n_folds, seed, groups)

    monkeypatch.setattr(_targets, "make_folds", record)
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(90, 2)), np.repeat(np.arange(9), 10)
    y = (X[:, 0] > 0).astype(int)
    model = StrataEnsembleClassifier(HISS(2, 0.6), cv=2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(
            make_pipeline(StandardScaler(), model) if piped else model, X, y, cv=GroupKFold(3),
            params={"groups": groups}, error_score="raise",
        )  # fmt: skip
    assert [len(set(each)) for each in seen] == [6, 6, 6]


class Counter:
    """Counts the tasks of a fit, and asks to stop after some."""

    def __init__(self, most):
        self.count, self.most = 0, most

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.count += 1
        return self.count >= self.most


@pytest.mark.usefixtures("callbacks")
def test_callbacks_are_called_for_each_setting_and_may_stop_the_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    heard, ended = Counter(99), Counter(1)
    full = StrataEnsembleClassifier(stratum_size="auto", cv=2, random_state=0)
    full.set_callbacks(heard).fit(X, y)
    # each setting, the members, and the fit itself
    assert heard.count == len(full.trials_) + 2 > 4
    short = StrataEnsembleClassifier(stratum_size="auto", cv=2, random_state=0)
    assert len(short.set_callbacks(ended).fit(X, y).trials_) == 1
