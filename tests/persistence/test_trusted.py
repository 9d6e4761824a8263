import importlib
import io
import pkgutil
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import ensemblage
from ensemblage._core import DamagedStateError
from ensemblage.bayes import BayesNetClassifier
from ensemblage.inner import InnerKMeans, InnerTreeClassifier
from ensemblage.persistence import TRUSTED_TYPES, load, save
from ensemblage.persistence._trusted import check_common, check_sklearn, is_trusted
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    KMeansStrata,
    MixtureStrata,
    ScaledLogisticRegression,
    StrataEnsembleClassifier,
)
from ensemblage.subspace import JointSubspaceClassifier
from persistence.archives import rewrite

X = np.random.default_rng(0).normal(size=(40, 3))


Y = np.arange(40) % 2


FITTED = [
    LogisticRegression().fit(X, Y),
    Ridge().fit(X, Y),
    SVC().fit(X, Y),
    DummyClassifier().fit(X, Y),
    BaggingClassifier(LogisticRegression(), 2, random_state=0).fit(X, Y),
    NearestNeighbors().fit(X),
]


@pytest.mark.parametrize("part", FITTED, ids=lambda part: type(part).__name__)
def test_fitted_estimators_pass(part):
    check_common(part)
    check_sklearn(part)


@pytest.mark.parametrize(
    ("part", "name", "value", "problem"),
    [
        (LogisticRegression(), "coef_", np.zeros((1, 2)), "coef_ has the wrong shape"),
        (LogisticRegression(), "intercept_", np.array([np.nan]), "intercept_ is not finite"),
        (Ridge(), "coef_", np.full(3, np.inf), "coef_ is not finite"),
        (SVC(), "support_", np.full(3, -1), "support"),
        (
            SVC(),
            "_n_support",
            np.array([9, 999], np.int32),
            "number of support vectors does not match",
        ),
        (DummyClassifier(), "_strategy", "eval", "_strategy is unknown"),
        (NearestNeighbors(), "_fit_method", "x", "_fit_method is unknown"),
    ],
)
def test_invalid_states_are_refused(part, name, value, problem):
    part.fit(X, Y)
    setattr(part, name, value)
    with pytest.raises(DamagedStateError, match=problem):
        check_sklearn(part)


def test_bagging_feature_indices_are_checked():
    part = BaggingClassifier(LogisticRegression(), 2, random_state=0).fit(X, Y)
    part.estimators_features_ = [np.array([0, 1, 7])] * 2
    with pytest.raises(DamagedStateError, match="feature index is out of range"):
        check_sklearn(part)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("n_features_in_", -1, "n_features_in_ is"),
        ("feature_names_in_", np.array(["a"], dtype=object), "does not match the columns"),
        ("n_jobs", 10**9, "n_jobs is invalid"),
        ("stratifier_", HISS(2, 0.5), "stratifier_ is not fitted"),
        ("estimators_", "all of them", "estimators_ is not a list"),
        ("fusion_", 3, "fusion_ is not fitted"),
    ],
)
def test_invalid_attributes_of_our_estimators_are_refused(name, value, problem):
    model = StrataEnsembleClassifier(HISS(2, 0.5), cv=2, random_state=0).fit(X, Y)
    check_common(model)
    setattr(model, name, value)
    with pytest.raises(DamagedStateError, match=problem):
        check_common(model)


# abstract base classes
BASE_CLASSES = {"Fusion"}


RNG = np.random.default_rng(0)


TRUSTED_X = RNG.normal(size=(80, 4))


TRUSTED_Y = np.where(TRUSTED_X[:, 0] + TRUSTED_X[:, 1] > 0, "yes", "no")


def exported_estimators():
    """Yield every exported class with a ``fit``, except base classes."""
    for package in pkgutil.iter_modules(ensemblage.__path__, "ensemblage."):
        module = importlib.import_module(package.name)
        for name in getattr(module, "__all__", ()):
            each = getattr(module, name)
            estimator = isinstance(each, type) and issubclass(each, BaseEstimator)
            if estimator and hasattr(each, "fit") and name not in BASE_CLASSES:
                yield each


def test_trusted_types_exist():
    for name in TRUSTED_TYPES:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_exported_estimator_is_trusted():
    ours = {f"{each.__module__}.{each.__qualname__}" for each in exported_estimators()}
    assert len(ours) > 15
    assert ours <= set(TRUSTED_TYPES)


@pytest.mark.parametrize(
    ("model", "forge"),
    [
        (RandomForestClassifier(3, random_state=0), "left_child"),
        (RandomForestClassifier(3, random_state=0), "feature"),
        (HistGradientBoostingClassifier(max_iter=3), "left"),
        (HistGradientBoostingClassifier(max_iter=3), "feature_idx"),
    ],
)
def test_forged_trees_are_refused(tmp_path, model, forge):
    """A tree with node indices out of range would crash the process in predict."""
    path = tmp_path / "trees.skops"
    save(model.fit(TRUSTED_X, TRUSTED_Y), path)
    assert (load(path).model.predict(TRUSTED_X) == model.predict(TRUSTED_X)).all()
    forged = []

    def change(name, data):
        if not name.endswith(".npy"):
            return data
        array = np.load(io.BytesIO(data))
        if array.dtype.names is None or forge not in array.dtype.names:
            return data
        array[forge][0] = 1000
        forged.append(name)
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    rewrite(path, change)
    assert forged
    with pytest.raises(ValueError, match="decision tree with forged or damaged nodes"):
        load(path)


SOURCES = np.array(["a", "b", "c", "d"])[np.arange(len(TRUSTED_Y)) % 4]


MODELS = {
    "hiss": lambda: HISS(3, 0.5, random_state=0).fit(TRUSTED_X),
    "mixture": lambda: MixtureStrata(2, random_state=0).fit(TRUSTED_X),
    "k-means": lambda: KMeansStrata(2, random_state=0).fit(TRUSTED_X),
    "bootstrap": lambda: BootstrapStrata(3, random_state=0).fit(TRUSTED_X),
    "sources": lambda: SourceStrata(min_rows=1).fit(TRUSTED_X, sources=SOURCES),
    "ensemble": lambda: StrataEnsembleClassifier(HISS(3, 0.5), random_state=0).fit(
        TRUSTED_X, TRUSTED_Y
    ),
    "subspaces": lambda: JointSubspaceClassifier(3, random_state=0).fit(TRUSTED_X, TRUSTED_Y),
    "prototypes": lambda: InnerKMeans(3, random_state=0).fit(TRUSTED_X),
    "tree": lambda: InnerTreeClassifier(random_state=0).fit(TRUSTED_X, TRUSTED_Y),
    "network": lambda: BayesNetClassifier().fit(TRUSTED_X, TRUSTED_Y),
}


@pytest.mark.parametrize(
    ("model", "attribute", "forged"),
    [
        ("hiss", "log_scales_", np.zeros(2)),
        ("hiss", "coincident_groups_", np.full(3, -(2**28))),
        ("hiss", "coincident_groups_", np.array([0, 5, 1])),
        ("hiss", "means_", np.full((3, 4), np.nan)),
        ("hiss", "covariances_", np.ones((3, 2))),
        ("hiss", "memberships_", np.full((150, 3), 2.0)),
        ("mixture", "weights_", np.array([-1.0, 2.0])),
        ("bootstrap", "memberships_", np.zeros((150, 9))),
        ("sources", "sources_", ["a"]),
        ("ensemble", "response_methods_", []),
        ("ensemble", "n_strata_", 99),
        ("ensemble", "n_features_in_", 3),
        ("subspaces", "supports_", np.ones((3, 9), dtype=bool)),
        ("subspaces", "coefs_", np.full((3, 2, 4), np.inf)),
        ("prototypes", "cluster_centers_", np.zeros((3, 1))),
        ("prototypes", "views_", "none"),
        ("tree", "tree_", "none"),
        ("tree", "n_features_in_", 1),
        ("tree", "classes_", np.array(["yes"])),
    ],
)
def test_forged_arrays_are_refused(tmp_path, model, attribute, forged):
    fitted, path = MODELS[model](), tmp_path / "model.skops"
    save(fitted, path)
    load(path)
    setattr(fitted, attribute, forged)
    save(fitted, path)
    with pytest.raises(ValueError, match=f"forged or damaged {type(fitted).__name__}"):
        load(path)


def test_inner_tree_with_forged_nodes_is_refused(tmp_path):
    fitted, path = MODELS["tree"](), tmp_path / "model.skops"
    save(fitted, path)
    assert (load(path).model.predict_proba(TRUSTED_X) == fitted.predict_proba(TRUSTED_X)).all()
    fitted.tree_.left[0] = 10**6
    save(fitted, path)
    with pytest.raises(ValueError, match=r"forged or damaged .*Tree.* parent"):
        load(path)


def test_network_with_forged_modes_is_refused(tmp_path):
    fitted, path = MODELS["network"](), tmp_path / "model.skops"
    for coder in fitted.network_.coders:
        object.__setattr__(coder, "mode", -(2**28))
    save(fitted, path)
    with pytest.raises(ValueError, match=r"forged or damaged BayesNetClassifier .*mode"):
        load(path)


def test_trusted_names_match_skops():
    """skops imports everything to list what it trusts; we check names only."""
    lists = importlib.import_module("skops.io._trusted_types")
    known = {
        *lists.SKLEARN_ESTIMATOR_TYPE_NAMES,
        *lists.SKLEARN_INTERNAL_TYPE_NAMES,
        *lists.NUMPY_UFUNC_TYPE_NAMES,
        *lists.SCIPY_UFUNC_TYPE_NAMES,
    }
    assert {name for name in known if not is_trusted(name)} == set()
    classes = {
        f"{each.__module__}.{each.__name__}"
        for name, module in list(sys.modules.items())
        if name.startswith("sklearn") and module is not None
        for each in list(vars(module).values())
        if isinstance(each, type)
    }
    # skops lists what is experimental if it was enabled before skops was imported
    halving = {name for name in classes if "_search_successive_halving." in name}
    assert {name for name in classes if is_trusted(name)} - known - halving <= set(TRUSTED_TYPES)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "sklearn.base.BaseEstimator",
        "sklearn.nowhere.LogisticRegression",
        "sklearn.linear_model.LogisticRegression",
        "sklearn.linear_model._base.LinearClassifierMixin",
        "sklearn.experimental.enable_halving_search_cv.HalvingGridSearchCV",
        "numpy.load",
        "numpy.f2py.log",
        "scipy.special.orthogonal",
    ],
)
def test_unlisted_private_names_are_not_trusted(name):
    assert not is_trusted(name)


@pytest.mark.parametrize("home", ["numpy", "numpy._core._multiarray_umath"])
def test_ufuncs_are_trusted_under_both_module_names(home):
    assert is_trusted(f"{home}.log1p")
    assert not is_trusted(f"{home}.fromfile")


def test_round_trip_of_single_class_strata_and_mixed_members(tmp_path):
    rng = np.random.default_rng(0)
    TRUSTED_X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(9, 1, (20, 2))])
    y = np.where(np.arange(60) < 40, np.arange(60) % 2, 1)
    strata = make_pipeline(StandardScaler(), HISS(2, (0.2, 0.8), total_size=1.0))
    kinds = [ScaledLogisticRegression(), GaussianNB()]
    with pytest.warns(UserWarning, match="hold one class only"):
        model = StrataEnsembleClassifier(strata, kinds, random_state=0).fit(TRUSTED_X, y)
    save(
        model, tmp_path / "strata.skops",
        columns=["a", "b"], kinds=["numeric"] * 2, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "strata.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(TRUSTED_X), model.predict_proba(TRUSTED_X))


@pytest.mark.parametrize("dtype", [b"|V8", b">i8"])
def test_raw_bytes_and_other_byte_orders_are_refused(tmp_path, dtype):
    path, model = (
        tmp_path / "model.skops",
        BayesNetClassifier(max_parents=1).fit(TRUSTED_X, TRUSTED_Y),
    )
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        whole = [name for name in archive.namelist() if b"'<i8'" in archive.read(name)]
    assert whole
    for forged in whole:
        save(model, path)
        names = iter(whole)  # each save gives the parts other names, in the same order

        def change(_, data, names=names, forged=forged):
            here = b"'<i8'" in data and next(names) == forged
            return data.replace(b"'<i8'", b"'" + dtype + b"'") if here else data

        rewrite(path, change)
        with pytest.raises(ValueError, match="forged or damaged"):
            load(path)
