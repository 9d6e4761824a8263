"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from ensemblage._core import Fold, deal_folds, set_module, suggestion
from ensemblage.datasets import ColumnTypes, TableEncoder, fold_labels
from ensemblage.evaluation import CLASSIFICATION, REGRESSION, TASKS, Task

Factory: TypeAlias = Callable[[int, int | None], Any]
Given: TypeAlias = Mapping[str, Any] | Iterable[Any] | None
"""Names, estimators, or both; a mapping sets the names; None stands for the default methods."""

# Folds of the cross-validation that chooses a baseline's hyperparameters.
INNER_FOLDS = 3
# Exponent of the rows in the time of a superlinear method; others grow linearly.
SUPERLINEAR_POWER = 1.5
# Rows above which a pool has one holdout set and few members.
LARGE_ROWS = 10_000
LOGISTIC_GRID: dict[str, list[Any]] = {"C": [0.01, 0.1, 1.0, 10.0]}
# "scale" is 1 / n_features, as features are standardised.
SVM_GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
RIDGE_GRID: dict[str, list[Any]] = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
SVR_GRID = {f"regressor__{name}": values for name, values in SVM_GRID.items()}


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Method:
    """A method of classification or regression.

    Parameters
    ----------
    name : str
        Name in commands and in Python.
    label : str
        Display name.
    description : str
        One line.
    classifier, regressor : callable or None, default=None
        ``factory(seed, n_jobs)`` makes the unfitted estimator; None if there is none for the task.
    in_regression : mapping, default={}
        Fields that differ in regression.
    ours : bool, default=False
        Whether it is a method of this library.
    handles_raw_tables : bool, default=False
        Whether it handles categories and missing values itself, without preprocessing.
    takes : tuple of {"sources", "groups"}, default=()
        Parameters of its ``fit`` beside rows and target. A method that takes sources is
        source-aware: it uses a known source in prediction too.
    needs_sources : bool, default=False
        Whether sources are required.
    nests_sources : bool, default=False
        Whether its sources may be nested; other methods take the outer ones.
    complexity : int, default=3
        0 for a constant prediction, 1 for one small model, 2 for many trees, 3 for a
        hyperparameter search or an ensemble of models. A comparison prefers the least complex of
        the methods that are not significantly different and within two standard errors.
    superlinear : bool, default=False
        Whether its time grows faster than linearly in the rows.
    seconds : float, default=1.0
        Time of a fit and a prediction on 1,000 rows of 20 columns, some of them categorical, on
        one core; used to compare methods.
    large_seconds : float, default=None
        Time for each 1,000 rows of more than 10,000, for a method that fits these in another way.
    quick : mapping or None, default={}
        Parameters that save time in a quick comparison, mostly smaller hyperparameter grids; with
        None the method is run in a quick comparison only if it is named.
    max_columns : int, default=None
        With more columns it is run only if it is named: its time grows with their square.
    encodes : bool, default=False
        Whether it has its own encoder, which takes the types of the columns.
    has_oof_predictions : bool, default=False
        Whether a fit keeps out-of-fold predictions, from which it is scored without further fits.
    fits_blocks : bool, default=False
        Whether it can be fitted to rows that are read in blocks.
    """

    name: str
    label: str
    description: str
    classifier: Factory | None = None
    regressor: Factory | None = None
    in_regression: Mapping[str, Any] = field(default_factory=dict)
    ours: bool = False
    handles_raw_tables: bool = False
    takes: tuple[str, ...] = ()
    needs_sources: bool = False
    nests_sources: bool = False
    complexity: int = 3
    superlinear: bool = False
    seconds: float = 1.0
    large_seconds: float | None = None
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    max_columns: int | None = None
    encodes: bool = False
    has_oof_predictions: bool = False
    fits_blocks: bool = False

    def factory(self, task: str) -> Factory | None:
        """Return the factory of the estimator for a task.

        Parameters
        ----------
        task : {"classification", "regression"}
            The task.

        Returns
        -------
        callable or None
            ``factory(seed, n_jobs)``, None if there is none.
        """
        return self.classifier if task == CLASSIFICATION.name else self.regressor

    def expected_seconds(self, n_rows: int) -> float:
        """Estimate the time of a fit and a prediction, to compare methods.

        Parameters
        ----------
        n_rows : int
            Number of training rows.

        Returns
        -------
        float
            Seconds.
        """
        if self.large_seconds is not None and n_rows > LARGE_ROWS:
            return self.large_seconds * n_rows / 1000
        # below a few hundred rows the time hardly depends on them
        power = SUPERLINEAR_POWER if self.superlinear else 1.0
        grown: float = (max(n_rows, 300) / 1000) ** power
        return self.seconds * grown

    def fit_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Return the parameters of a pipeline's ``fit`` for this method.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or (n_rows, 2), or None
            Source of each training row, or its outer and its inner source.
        new_sources : bool
            Whether predictions are for sources that are not in the training rows.

        Returns
        -------
        dict
            Parameters of ``fit``.
        """
        if self.needs_sources and sources is None:
            raise ValueError(
                f"The method {self.name!r} needs the source of each row: name its column by "
                "`source_column`."
            )
        if sources is None:
            return {}
        known = self.needs_sources or not new_sources
        outer = sources if sources.ndim == 1 else sources[:, 0]
        values = {"groups": outer, "sources": sources if self.nests_sources else outer}
        wanted = {"groups": new_sources, "sources": known}
        return {f"model__{name}": values[name] for name in self.takes if wanted[name]}

    def predict_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Return the parameters of a prediction beside the rows.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or (n_rows, 2), or None
            Source of each row to predict, or its outer and its inner source.
        new_sources : bool
            Whether these sources are not in the training rows.

        Returns
        -------
        dict
            Parameters of ``predict`` and ``predict_proba``.
        """
        if sources is None or new_sources or "sources" not in self.takes:
            return {}
        nested = sources.ndim == 2
        return {"sources": sources[:, 0] if nested and not self.nests_sources else sources}


def tuned(estimator: Any, grid: dict[str, list[Any]], seed: int, n_jobs: int | None) -> Any:
    """Choose hyperparameters by cross-validation."""
    return GridSearchCV(estimator, grid, cv=InnerFolds(INNER_FOLDS, seed), n_jobs=n_jobs)


def _majority(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyClassifier(strategy="prior")


def _mean(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyRegressor()


def _logistic(seed: int, n_jobs: int | None) -> Any:
    return tuned(LogisticRegression(max_iter=2000), LOGISTIC_GRID, seed, n_jobs)


def _ridge(seed: int, n_jobs: int | None) -> Any:
    return tuned(Ridge(), RIDGE_GRID, seed, n_jobs)


def _svm(seed: int, n_jobs: int | None) -> Any:
    return tuned(SVC(), SVM_GRID, seed, n_jobs)


def _svm_regressor(seed: int, n_jobs: int | None) -> Any:
    from sklearn.compose import TransformedTargetRegressor  # noqa: PLC0415  only if used

    # SVR's default epsilon of 0.1 is for a target with a standard deviation of 1
    scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return tuned(scaled, SVR_GRID, seed, n_jobs)


def _forest(seed: int, n_jobs: int | None) -> Any:
    return RandomForestClassifier(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _forest_regressor(seed: int, n_jobs: int | None) -> Any:
    return RandomForestRegressor(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingClassifier(random_state=seed)


def _boosting_regressor(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingRegressor(random_state=seed)


def _ours(path: str, **params: Any) -> Factory:
    """Return a factory of an estimator; its package is imported at the first call."""
    return partial(_make, path, params)


def _make(path: str, params: Mapping[str, Any], seed: int, n_jobs: int | None) -> Any:
    package, name = path.split(".")
    kind = getattr(import_module(f"ensemblage.{package}"), name)
    given = {"random_state": seed, "n_jobs": n_jobs}
    known = signature(kind).parameters
    return kind(**params, **{key: value for key, value in given.items() if key in known})


def _strata_sources(name: str, seed: int, n_jobs: int | None) -> Any:
    from ensemblage.sources import SourceStrata  # noqa: PLC0415  only if used

    return _make(name, {"stratifier": SourceStrata(), "anchor": "svm"}, seed, n_jobs)


METHODS = {
    method.name: method
    for method in (
        Method(
            "majority", "majority class", "always predicts the most frequent class", _majority,
            complexity=0, seconds=0.02,
        ),
        Method("mean", "mean", "always predicts the mean", None, _mean, complexity=0, seconds=0.02),
        Method(
            "logistic", "logistic regression", "C chosen by cross-validation", _logistic,
            complexity=1, seconds=0.06,
        ),
        Method(
            "ridge", "ridge regression", "alpha chosen by cross-validation", None, _ridge,
            complexity=1, seconds=0.1,
        ),
        Method(
            "svm", "RBF SVM", "C and gamma chosen by cross-validation", _svm, _svm_regressor,
            {"description": "C and gamma chosen by cross-validation, target standardised",
             "quick": {"regressor__gamma": "scale"}},
            superlinear=True, seconds=3.3, quick={"gamma": "scale"},
        ),
        Method(
            "forest", "random forest", "200 trees", _forest, _forest_regressor, complexity=2,
            seconds=0.7,
        ),
        Method(
            "boosting", "gradient boosting", "histogram-based, 100 iterations", _boosting,
            _boosting_regressor, complexity=2, seconds=0.2,
        ),
        Method(
            "strata", "strata ensemble", "one member per stratum, combined by a gate",
            _ours("strata.StrataEnsembleClassifier"), _ours("strata.StrataEnsembleRegressor"),
            {"description": "one member per stratum, predictive densities combined by a gate"},
            ours=True, takes=("groups",), superlinear=True, seconds=0.9, fits_blocks=True,
        ),
        Method(
            "strata-sources", "strata of sources",
            "one member per source, combined by a gate, and an SVM on all rows; needs sources",
            partial(_strata_sources, "strata.StrataEnsembleClassifier"),
            partial(_strata_sources, "strata.StrataEnsembleRegressor"),
            ours=True, takes=("sources", "groups"), needs_sources=True, superlinear=True,
            seconds=4.0,
        ),
        Method(
            "partial-pooling", "partial pooling",
            "logistic regression with coefficients of each source, shrunk towards common ones; "
            "needs sources",
            _ours("sources.PartialPoolingClassifier"), _ours("sources.PartialPoolingRegressor"),
            {"description": "linear regression with coefficients of each source, shrunk towards "
             "common ones; needs sources"},
            ours=True, takes=("sources",), needs_sources=True, nests_sources=True, complexity=1,
            seconds=1.0,
        ),
        Method(
            "strata-paper", "strata ensemble (paper)",
            "20 linear SVMs on strata of 40 % of the rows, stacked as in the paper",
            _ours("strata.paper_ensemble"), ours=True, superlinear=True, seconds=1.9, quick=None,
        ),
        Method(
            "subspace", "joint subspaces",
            "members on jointly selected feature subsets; product or gate",
            _ours("subspace.JointSubspaceClassifier", C="auto", fusion="auto"),
            _ours("subspace.JointSubspaceRegressor", C="auto"),
            {"description": "members on jointly selected feature subsets; product of their "
             "densities", "quick": {"C": 1.0}},
            ours=True, superlinear=True, seconds=4.0, quick={"fusion": "product"},
        ),
        Method(
            "bayesnet", "Bayesian network", "structure by K2 with the leave-one-out score",
            _ours("bayes.BayesNetClassifier"),
            ours=True, handles_raw_tables=True, complexity=1, seconds=0.12,
        ),
        Method(
            "inner-bayesnet", "inner Bayesian network",
            "one network, its structure and tables decided by 30 bootstrap views",
            _ours("inner.InnerBayesNetClassifier"),
            ours=True, handles_raw_tables=True, complexity=1, seconds=0.35, quick=None,
            max_columns=300,
        ),
        Method(
            "tree", "inner tree",
            "one tree of at most 16 leaves, its thresholds decided by 30 bootstrap views",
            _ours("inner.InnerTreeClassifier"), _ours("inner.InnerTreeRegressor"),
            ours=True, handles_raw_tables=True, takes=("groups",), complexity=1, seconds=0.5,
        ),
        Method(
            "auto", "pool",
            "standard and library members, tuned on shared folds, fused by fitted weights",
            _ours("pool.EnsemblageClassifier"), _ours("pool.EnsemblageRegressor"),
            {"description": "standard and library members, tuned on shared folds, product of "
             "their densities"},
            ours=True, handles_raw_tables=True, takes=("sources", "groups"), nests_sources=True,
            superlinear=True, seconds=15.0, large_seconds=0.1, quick=None, encodes=True,
            has_oof_predictions=True,
        ),
    )
}  # fmt: skip
"""Methods of classification and regression by name."""


class InnerFolds(BaseEstimator):
    """Stratified folds; a class with fewer rows than folds is in some test folds only.

    A numeric target is stratified by its quantile bins. If no fold leaves two classes for
    training, there is one fold, with all rows for both training and testing.
    """

    def __init__(self, n_splits: int, random_state: int) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Generate the folds, as scikit-learn's splitters do."""
        labels = np.unique(fold_labels(np.asarray(y)), return_inverse=True)[1]
        if np.bincount(labels).min() >= self.n_splits:
            usual = StratifiedKFold(self.n_splits, shuffle=True, random_state=self.random_state)
            yield from (Fold(*parts) for parts in usual.split(np.zeros(len(labels)), labels))
            return
        rng = np.random.default_rng(self.random_state)
        folds = deal_folds(labels, self.n_splits, rng)
        useful = [fold for fold in folds if len(np.unique(labels[fold.train])) > 1]
        everything = np.arange(len(labels))
        yield from useful or [Fold(everything, everything)]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits if y is None else len(list(self.split(X, y, groups)))


@set_module("ensemblage.studies")
class UnknownMethodError(ValueError):
    """Unknown name of a method."""


def methods_for(task: str) -> dict[str, Method]:
    """Methods of a task by name, with the fields for that task."""
    found = {name: each for name, each in METHODS.items() if each.factory(task) is not None}
    if task == REGRESSION.name:
        return {name: replace(each, **each.in_regression) for name, each in found.items()}
    return found


def get_method(name: str, task: str = CLASSIFICATION.name) -> Method:
    """Return the method of that name for a task."""
    known = methods_for(task)
    if name in known:
        return known[name]
    if name in METHODS:
        other = next(each for each in TASKS.values() if each.name != task)
        raise UnknownMethodError(
            f"The method {name!r} is for {other.name}, not {task}. Methods for {task}: "
            f"{', '.join(known)}."
        )
    raise _unknown(name, known)


def check_method_name(name: str) -> None:
    """Refuse an unknown name, before the task is known."""
    if name not in METHODS:
        raise _unknown(name, METHODS)


def _unknown(name: str, known: Iterable[str]) -> UnknownMethodError:
    return UnknownMethodError(
        f"Unknown method {name!r}.{suggestion(name, known)} Known methods: {', '.join(known)}."
    )


def make_model(
    name: str | Method,
    columns: ColumnTypes,
    seed: int,
    n_jobs: int | None = None,
    *,
    task: str = CLASSIFICATION.name,
) -> Pipeline:
    """Make an unfitted pipeline of an encoder and a method's estimator.

    Parameters
    ----------
    name : str or Method
        The method.
    columns : ColumnTypes
        Types and declared categories of the columns, as in ``Dataset.columns``.
    seed : int
        Random seed.
    n_jobs : int, default=None
        As in joblib.
    task : {"classification", "regression"}, default="classification"
        The task.

    Returns
    -------
    Pipeline
        With the steps ``table``, a :class:`~ensemblage.datasets.TableEncoder`, and ``model``; the
        first passes values through unchanged if the method handles raw tables.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.studies import make_model
    >>> iris = load_dataset("iris")
    >>> model = make_model("logistic", iris.columns, seed=0).fit(iris.X, iris.y)
    >>> round(model.score(iris.X, iris.y), 2)
    0.98
    """
    method = name if isinstance(name, Method) else get_method(name, task)
    factory = method.factory(task)
    if factory is None:
        raise ValueError(f"The method {method.name!r} is not for {task}.")
    estimator = factory(seed, n_jobs)
    encoder = TableEncoder(
        kinds=list(columns.kinds), categories=_listed(columns), random_state=seed
    )
    if method.handles_raw_tables:
        passthrough = FunctionTransformer(feature_names_out="one-to-one")
        if "categories" in estimator.get_params(deep=False):
            estimator.set_params(categories=_listed(columns))
        if method.encodes:
            estimator.set_params(encode=encoder)
        return Pipeline([("table", passthrough), ("model", estimator)])
    return Pipeline([("table", encoder), ("model", estimator)])


def _listed(columns: ColumnTypes) -> list[list[str] | None]:
    return [None if known is None else list(known) for known in columns.categories]


def named_methods(
    given: Given,
    *,
    task: Task = CLASSIFICATION,
    sources: bool,
    quick: bool = False,
    n_columns: int = 0,
) -> dict[str, Method]:
    """Return methods by name, of names and estimators; ``sources``: whether they are known."""
    if given is None:
        given = usual_methods(task=task, sources=sources, quick=quick, n_columns=n_columns)
    if isinstance(given, str):
        given = [given]
    found: dict[str, Method] = {}
    if isinstance(given, Mapping):
        for name, each in given.items():
            method = _method(each, str(name), task)
            own = method.name == name
            found[str(name)] = method if own else replace(method, name=str(name), label=str(name))
    else:
        for each in given:
            method = _method(each, type(each).__name__, task)
            if found.setdefault(method.name, method) != method:
                raise ValueError(
                    f"`methods` has two estimators named {method.name!r}: give a mapping of names "
                    "to estimators."
                )
    if not found:
        raise ValueError(
            "`methods` is empty: name one or more, or leave it out for the default methods."
        )
    return found


def usual_methods(
    *, task: Task = CLASSIFICATION, sources: bool, quick: bool = False, n_columns: int = 0
) -> list[str]:
    """Names of the default methods for a task and a number of columns."""
    return [
        name
        for name, each in methods_for(task.name).items()
        if (sources or not each.needs_sources)
        and not (quick and each.quick is None)
        and not _too_many(n_columns, each)
    ]


def wide_notes(task: Task, quick: bool, n_columns: int) -> list[str]:
    """Name the default methods that are left out because there are too many columns."""
    return [
        f"{each.label} is left out: its time grows with the square of the columns, and there are "
        f"more than {each.max_columns}. Name it by `methods` to run it anyway."
        for each in methods_for(task.name).values()
        if _too_many(n_columns, each) and not (quick and each.quick is None)
    ]


def _too_many(n_columns: int, method: Method) -> bool:
    return method.max_columns is not None and n_columns > method.max_columns


def digest_of(method: Method) -> str:
    """Hash of an estimator, which distinguishes those of the same name; empty if registered."""
    known, own = METHODS.get(method.name), (method.classifier, method.regressor)
    if known is not None and own == (known.classifier, known.regressor):
        return ""
    return str(joblib.hash(method.classifier or method.regressor))


def _method(given: Any, name: str, task: Task) -> Method:
    if isinstance(given, str):
        return get_method(given, task.name)
    predicts, wanted = (
        (is_regressor, "regressor") if task is REGRESSION else (is_classifier, "classifier")
    )
    if not hasattr(given, "fit") or not predicts(given):
        raise TypeError(
            f"`methods` has {given!r} as {name!r}: it must be the name of a method, one of "
            f"{', '.join(methods_for(task.name))}, or an unfitted {wanted}."
        )
    ours = type(given).__module__.partition(".")[0] == "ensemblage"
    factory = partial(_copy, given)
    return Method(
        name, name, "user-defined estimator", factory, factory, ours=ours,
        handles_raw_tables=isinstance(given, Pipeline),
    )  # fmt: skip


def _copy(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs  # the study sets seeds that are None
    return clone(estimator)
