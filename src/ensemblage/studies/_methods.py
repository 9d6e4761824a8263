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
"""Names, estimators, or both; a mapping calls each by a name; None stands for the usual ones."""

# Folds by which a baseline's parameters are tuned.
INNER_FOLDS = 3
# Power of the rows with which the time of a superlinear method grows; others grow as the rows do.
SUPERLINEAR_POWER = 1.5
LOGISTIC_GRID: dict[str, list[Any]] = {"C": [0.01, 0.1, 1.0, 10.0]}
# "scale" stands for 1 over the number of features, as these are standardised.
SVM_GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
RIDGE_GRID: dict[str, list[Any]] = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
SVR_GRID = {f"regressor__{name}": values for name, values in SVM_GRID.items()}


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Method:
    """A way to learn a model, under a name.

    Parameters
    ----------
    name : str
        What to ask for.
    label : str
        What tables call it.
    description : str
        One line.
    classifier, regressor : callable or None, default=None
        ``factory(seed, n_jobs)`` makes the unfitted estimator; None if there is none for the task.
    in_regression : mapping, default={}
        Other fields that differ if numbers are predicted.
    ours : bool, default=False
        Whether it is one of this library's own methods.
    handles_raw_tables : bool, default=False
        Whether it reads categories and missing values itself, without preprocessing.
    takes : tuple of {"sources", "groups"}, default=()
        What its ``fit`` takes beside rows and target. One that takes sources predicts rows by
        their source too, where it is known.
    needs_sources : bool, default=False
        Whether it cannot do without them.
    effort : int, default=3
        How much there is to fit and to read: 0 nothing, 1 one small model, 2 many trees, 3 a
        search for parameters or an ensemble of models. Of methods that are about as good, the
        one of least effort is chosen.
    superlinear : bool, default=False
        Whether its time grows faster than the rows.
    seconds : float, default=1.0
        Of a fit and a prediction on 1,000 rows of 20 columns, some of them categorical, on one
        core; only how methods compare means something.
    quick : mapping or None, default={}
        Parameters that save time in a quick comparison, mostly by less tuning; with None the
        method is only in such a one if it is asked for.
    most_columns : int, default=None
        With more columns it is only run if it is asked for: its time grows with their square.
    encodes : bool, default=False
        Whether it takes tables through an encoder of its own, which is told the types of columns.
    has_oof_predictions : bool, default=False
        Whether a fit keeps out-of-fold predictions of its own, so that none is needed for scores.
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
    effort: int = 3
    superlinear: bool = False
    seconds: float = 1.0
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    most_columns: int | None = None
    encodes: bool = False
    has_oof_predictions: bool = False
    fits_blocks: bool = False

    def factory(self, task: str) -> Factory | None:
        """Give what makes the estimator for a task.

        Parameters
        ----------
        task : {"classification", "regression"}
            Whether classes or numbers are predicted.

        Returns
        -------
        callable or None
            ``factory(seed, n_jobs)``, None if there is none.
        """
        return self.classifier if task == CLASSIFICATION.name else self.regressor

    def expected_seconds(self, n_rows: int) -> float:
        """Guess how long it takes on so many rows; only comparisons mean something.

        Parameters
        ----------
        n_rows : int
            Rows to fit on.

        Returns
        -------
        float
            Seconds.
        """
        # below some hundred rows the time hardly depends on them
        power = SUPERLINEAR_POWER if self.superlinear else 1.0
        grown: float = (max(n_rows, 300) / 1000) ** power
        return self.seconds * grown

    def fit_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Name what a pipeline's ``fit`` passes on to the method.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or None
            Where the rows to fit on come from.
        new_sources : bool
            Whether predictions are for sources never seen in training.

        Returns
        -------
        dict
            Parameters of ``fit``.
        """
        if self.needs_sources and sources is None:
            raise ValueError(
                f"The method {self.name!r} needs to know where rows come from: name the column by "
                "`source_column`."
            )
        if sources is None:
            return {}
        known = self.needs_sources or not new_sources
        wanted = {"groups": new_sources, "sources": known}
        return {f"model__{name}": sources for name in self.takes if wanted[name]}

    def predict_params(
        self, sources: NDArray[Any] | None, new_sources: bool
    ) -> dict[str, NDArray[Any]]:
        """Name what a prediction takes beside the rows.

        Parameters
        ----------
        sources : ndarray of shape (n_rows,) or None
            Where the rows to predict come from.
        new_sources : bool
            Whether these are sources never seen in training.

        Returns
        -------
        dict
            Parameters of ``predict`` and ``predict_proba``.
        """
        if sources is None or new_sources or "sources" not in self.takes:
            return {}
        return {"sources": sources}


def tuned(estimator: Any, grid: dict[str, list[Any]], seed: int, n_jobs: int | None) -> Any:
    """Let inner folds choose parameters of an estimator."""
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
    from sklearn.compose import TransformedTargetRegressor  # noqa: PLC0415  only if asked for

    # its margin of 0.1 means something if the numbers have a standard deviation of 1
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
    """Make an estimator of this library, whose package is imported when it is asked for."""
    return partial(_make, path, params)


def _make(path: str, params: Mapping[str, Any], seed: int, n_jobs: int | None) -> Any:
    package, name = path.split(".")
    kind = getattr(import_module(f"ensemblage.{package}"), name)
    given = {"random_state": seed, "n_jobs": n_jobs}
    known = signature(kind).parameters
    return kind(**params, **{key: value for key, value in given.items() if key in known})


def _strata_sources(name: str, seed: int, n_jobs: int | None) -> Any:
    from ensemblage.sources import SourceStrata  # noqa: PLC0415  only if asked for

    return _make(name, {"stratifier": SourceStrata(), "anchor": "svm"}, seed, n_jobs)


METHODS = {
    method.name: method
    for method in (
        Method(
            "majority", "majority class", "always the most frequent class", _majority, effort=0,
            seconds=0.02,
        ),
        Method("mean", "mean", "always the mean", None, _mean, effort=0, seconds=0.02),
        Method(
            "logistic", "logistic regression", "C tuned by inner folds", _logistic, effort=1,
            seconds=0.06,
        ),
        Method(
            "ridge", "ridge regression", "alpha tuned by inner folds", None, _ridge, effort=1,
            seconds=0.1,
        ),
        Method(
            "svm", "RBF SVM", "C and gamma tuned by inner folds", _svm, _svm_regressor,
            {"description": "C and gamma tuned by inner folds, numbers standardised",
             "quick": {"regressor__gamma": "scale"}},
            superlinear=True, seconds=3.3, quick={"gamma": "scale"},
        ),
        Method(
            "forest", "random forest", "200 trees", _forest, _forest_regressor, effort=2,
            seconds=0.7,
        ),
        Method(
            "boosting", "gradient boosting", "histogram-based, 100 rounds", _boosting,
            _boosting_regressor, effort=2, seconds=0.2,
        ),
        Method(
            "strata", "strata ensemble", "a member per stratum, behind a gate",
            _ours("strata.StrataEnsembleClassifier"), _ours("strata.StrataEnsembleRegressor"),
            {"description": "a member per stratum, their densities behind a gate"},
            ours=True, takes=("groups",), superlinear=True, seconds=0.9, fits_blocks=True,
        ),
        Method(
            "strata-sources", "strata of sources",
            "a member per known source behind a gate, pooled with an SVM; needs sources",
            partial(_strata_sources, "strata.StrataEnsembleClassifier"),
            partial(_strata_sources, "strata.StrataEnsembleRegressor"),
            ours=True, takes=("sources", "groups"), needs_sources=True, superlinear=True,
            seconds=4.0,
        ),
        Method(
            "strata-paper", "strata ensemble (paper)",
            "20 linear SVMs on strata of 40 % of the rows, stacked as in the paper",
            _ours("strata.paper_ensemble"), ours=True, superlinear=True, seconds=1.9, quick=None,
        ),
        Method(
            "subspace", "joint subspaces",
            "members on features chosen while they learn; product or gate",
            _ours("subspace.JointSubspaceClassifier", C="auto", fusion="auto"),
            _ours("subspace.JointSubspaceRegressor", C="auto"),
            {"description": "members on features chosen while they learn; product of their "
             "densities", "quick": {"C": 1.0}},
            ours=True, superlinear=True, seconds=4.0, quick={"fusion": "product"},
        ),
        Method(
            "bayesnet", "Bayesian network", "structure by K2 with the leave-one-out score",
            _ours("bayes.BayesNetClassifier"),
            ours=True, handles_raw_tables=True, effort=1, seconds=0.12,
        ),
        Method(
            "inner-bayesnet", "inner Bayesian network",
            "one network, its structure and tables the decisions of 30 samples",
            _ours("inner.InnerBayesNetClassifier"),
            ours=True, handles_raw_tables=True, effort=1, seconds=0.35, quick=None,
            most_columns=300,
        ),
        Method(
            "tree", "inner tree",
            "one tree of 16 leaves at most, its thresholds placed by 30 bootstraps",
            _ours("inner.InnerTreeClassifier"), _ours("inner.InnerTreeRegressor"),
            ours=True, handles_raw_tables=True, takes=("groups",), effort=1, seconds=0.5,
        ),
        Method(
            "auto", "pool",
            "usual members and ours, tuned on shared folds and fused by what they are worth",
            _ours("pool.EnsemblageClassifier"), _ours("pool.EnsemblageRegressor"),
            {"description": "usual members and ours, tuned on shared folds, their densities "
             "multiplied", "takes": ("groups",)},
            ours=True, handles_raw_tables=True, takes=("sources", "groups"), superlinear=True,
            seconds=15.0, quick=None, encodes=True, has_oof_predictions=True,
        ),
    )
}  # fmt: skip
"""Methods of classification and regression by name."""


class InnerFolds(BaseEstimator):
    """Stratified folds; classes of fewer rows than folds are dealt as far as they go.

    Numbers are stratified by the part of them that each is in.

    Where no fold would leave two classes to learn from, all rows are on both sides: tuning then
    decides nothing worth telling, but there is a model.
    """

    def __init__(self, n_splits: int, random_state: int) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Give the folds, as scikit-learn's splitters do."""
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
        """Count the folds."""
        return self.n_splits if y is None else len(list(self.split(X, y, groups)))


@set_module("ensemblage.studies")
class UnknownMethodError(ValueError):
    """No method has that name."""


def methods_for(task: str) -> dict[str, Method]:
    """Give the methods of a task by name, each as it is for that task."""
    found = {name: each for name, each in METHODS.items() if each.factory(task) is not None}
    if task == REGRESSION.name:
        return {name: replace(each, **each.in_regression) for name, each in found.items()}
    return found


def get_method(name: str, task: str = CLASSIFICATION.name) -> Method:
    """Look up a method by its name, for a task."""
    known = methods_for(task)
    if name in known:
        return known[name]
    if name in METHODS:
        other = next(each for each in TASKS.values() if each.name != task)
        raise UnknownMethodError(
            f"The method {name!r} predicts {other.targets}, not {TASKS[task].targets}. There are: "
            f"{', '.join(known)}."
        )
    raise _unknown(name, known)


def check_method_name(name: str) -> None:
    """Refuse a name that no method has, before it is known what is to be predicted."""
    if name not in METHODS:
        raise _unknown(name, METHODS)


def _unknown(name: str, known: Iterable[str]) -> UnknownMethodError:
    return UnknownMethodError(
        f"There is no method {name!r}.{suggestion(name, known)} There are: {', '.join(known)}."
    )


def make_model(
    name: str | Method,
    columns: ColumnTypes,
    seed: int,
    n_jobs: int | None = None,
    *,
    task: str = CLASSIFICATION.name,
) -> Pipeline:
    """Make an unfitted model that takes a dataset's matrix: an encoder, then a method.

    Parameters
    ----------
    name : str or Method
        The method.
    columns : ColumnTypes
        Kinds and declared categories, as in ``Dataset.columns``.
    seed : int
        The only source of randomness.
    n_jobs : int, default=None
        As in joblib.
    task : {"classification", "regression"}, default="classification"
        Whether classes or numbers are to be predicted.

    Returns
    -------
    Pipeline
        With the steps ``table``, a :class:`~ensemblage.datasets.TableEncoder`, and ``model``; the
        first hands the values on as they are if the method takes tables.

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
        raise ValueError(f"The method {method.name!r} does not predict {TASKS[task].targets}.")
    estimator = factory(seed, n_jobs)
    encoder = TableEncoder(
        kinds=list(columns.kinds), categories=_listed(columns), random_state=seed
    )
    if method.handles_raw_tables:
        as_it_is = FunctionTransformer(feature_names_out="one-to-one")
        if "categories" in estimator.get_params(deep=False):
            estimator.set_params(categories=_listed(columns))
        if method.encodes:
            estimator.set_params(encode=encoder)
        return Pipeline([("table", as_it_is), ("model", estimator)])
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
    """Look up names and take estimators for methods; ``sources`` are known or not."""
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
                    f"`methods` has two estimators called {method.name!r}: give a mapping from "
                    "names of your own to the estimators."
                )
    if not found:
        raise ValueError(
            "`methods` is empty: name one or more, or leave it out for the usual ones."
        )
    return found


def usual_methods(
    *, task: Task = CLASSIFICATION, sources: bool, quick: bool = False, n_columns: int = 0
) -> list[str]:
    """Name all methods that can be run with or without known sources, or quickly."""
    return [
        name
        for name, each in methods_for(task.name).items()
        if (sources or not each.needs_sources)
        and not (quick and each.quick is None)
        and not _too_many(n_columns, each)
    ]


def wide_notes(task: Task, quick: bool, n_columns: int) -> list[str]:
    """Say which of the usual methods do not take so many columns."""
    return [
        f"{each.label} is left out: its time grows with the square of the columns, and there are "
        f"more than {each.most_columns}. Name it by `methods` to have it all the same."
        for each in methods_for(task.name).values()
        if _too_many(n_columns, each) and not (quick and each.quick is None)
    ]


def _too_many(n_columns: int, method: Method) -> bool:
    return method.most_columns is not None and n_columns > method.most_columns


def digest_of(method: Method) -> str:
    """Tell estimators of the same name apart by a hash; a method of the registry has none."""
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
            f"`methods` has {given!r} as {name!r}: give the name of a method, one of "
            f"{', '.join(methods_for(task.name))}, or a {wanted} that is not fitted."
        )
    ours = type(given).__module__.partition(".")[0] == "ensemblage"
    factory = partial(_copy, given)
    return Method(
        name, name, "an estimator of one's own", factory, factory, ours=ours,
        handles_raw_tables=isinstance(given, Pipeline),
    )  # fmt: skip


def _copy(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs  # free seeds are set by the study
    return clone(estimator)
