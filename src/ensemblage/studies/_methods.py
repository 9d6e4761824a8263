"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
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
from ensemblage.studies._experiment import Cost

INNER_FOLDS = 3


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
    factory : callable
        ``factory(seed, n_jobs)`` makes the unfitted estimator.
    ours : bool, default=False
        Whether it is one of this library's own methods.
    takes_tables : bool, default=False
        Whether it reads words and missing values itself, without preprocessing.
    takes : tuple of {"sources", "groups"}, default=()
        What its ``fit`` takes beside rows and target. One that takes sources answers rows by
        their source too, where it is known.
    needs_sources : bool, default=False
        Whether it cannot do without them.
    effort : int, default=3
        How much there is to fit and to read: 0 nothing, 1 one small model, 2 many trees, 3 a
        search for parameters or an ensemble of models. Of methods that are about as good, the
        one of least effort is chosen.
    steep : bool, default=False
        Whether its time grows faster than the rows.
    quick : mapping or None, default={}
        Parameters that save time in a quick comparison, mostly by less tuning; with None the
        method is only in such a one if it is asked for.
    most_columns : int, default=None
        With more columns it is only run if it is asked for: its time grows with their square.
    encodes : bool, default=False
        Whether it takes tables through an encoder of its own, which is told the kinds of columns.
    judges_itself : bool, default=False
        Whether a fit tells by itself what the method says of rows that it has not seen.
    takes_blocks : bool, default=False
        Whether it can be fitted to rows that are read in blocks.
    """

    name: str
    label: str
    description: str
    factory: Callable[[int, int | None], Any]
    ours: bool = False
    takes_tables: bool = False
    takes: tuple[str, ...] = ()
    needs_sources: bool = False
    effort: int = 3
    steep: bool = False
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    most_columns: int | None = None
    encodes: bool = False
    judges_itself: bool = False
    takes_blocks: bool = False

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
        """Name what a prediction is told beside the rows.

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
        told = sources is not None and "sources" in self.takes and not new_sources
        return {"sources": sources} if told and sources is not None else {}


def tuned(estimator: Any, grid: dict[str, list[Any]], seed: int, n_jobs: int | None) -> Any:
    """Let inner folds choose parameters of an estimator."""
    return GridSearchCV(estimator, grid, cv=InnerFolds(INNER_FOLDS, seed), n_jobs=n_jobs)


SECONDS = {
    "majority": 0.02,
    "logistic": 0.06,
    "svm": 3.3,
    "forest": 0.7,
    "boosting": 0.2,
    "strata": 0.9,
    "strata-sources": 4.0,
    "strata-paper": 1.9,
    "subspace": 4.0,
    "bayesnet": 0.12,
    "inner-bayesnet": 0.35,
    "tree": 0.5,
    "auto": 15.0,
    "mean": 0.02,
    "ridge": 0.1,
}
"""Of a fit and a prediction on 1,000 rows of 20 columns, some of them words, on one core."""
STEEPNESS = 1.5
"""Power of the rows with which the time of a steep method grows; others grow as the rows do."""
ANY = 1.0


def expected_seconds(method: Method, n_rows: int) -> float:
    """Guess how long a method takes on so many rows; only comparisons mean something."""
    power = STEEPNESS if method.steep else 1.0
    # below some hundred rows the time hardly depends on them
    grown: float = (max(n_rows, 300) / 1000) ** power
    return SECONDS.get(method.name, ANY) * grown


def cell_cost(params: Mapping[str, Any], *, seconds: Mapping[str, float]) -> Cost:
    """Take the cells of one method for alike."""
    return Cost(params["method"], seconds[params["method"]])


LOGISTIC_GRID: dict[str, list[Any]] = {"C": [0.01, 0.1, 1.0, 10.0]}
# "scale" stands for 1 over the number of features, as these are standardised.
SVM_GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}


def _majority(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyClassifier(strategy="prior")


def _logistic(seed: int, n_jobs: int | None) -> Any:
    return tuned(LogisticRegression(max_iter=2000), LOGISTIC_GRID, seed, n_jobs)


def _svm(seed: int, n_jobs: int | None) -> Any:
    return tuned(SVC(), SVM_GRID, seed, n_jobs)


def _forest(seed: int, n_jobs: int | None) -> Any:
    return RandomForestClassifier(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingClassifier(random_state=seed)


def _strata(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415  as below: only what is asked for

    return StrataEnsembleClassifier(random_state=seed, n_jobs=n_jobs)


def _strata_sources(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.sources import SourceStrata  # noqa: PLC0415
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415

    return StrataEnsembleClassifier(SourceStrata(), anchor="svm", random_state=seed, n_jobs=n_jobs)


def _strata_paper(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import paper_ensemble  # noqa: PLC0415

    return paper_ensemble(random_state=seed, n_jobs=n_jobs)


def _subspace(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.subspace import JointSubspaceClassifier  # noqa: PLC0415

    return JointSubspaceClassifier(C="auto", fusion="auto", random_state=seed, n_jobs=n_jobs)


def _bayesnet(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.bayes import BayesNetClassifier  # noqa: PLC0415

    del seed
    return BayesNetClassifier(n_jobs=n_jobs)


def _inner_bayesnet(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerBayesNetClassifier  # noqa: PLC0415

    return InnerBayesNetClassifier(random_state=seed, n_jobs=n_jobs)


def _tree(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerTreeClassifier  # noqa: PLC0415

    return InnerTreeClassifier(random_state=seed, n_jobs=n_jobs)


def _auto(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.pool import EnsemblageClassifier  # noqa: PLC0415

    return EnsemblageClassifier(random_state=seed, n_jobs=n_jobs)


METHODS = {
    method.name: method
    for method in (
        Method("majority", "majority class", "always the most frequent class", _majority, effort=0),
        Method("logistic", "logistic regression", "C tuned by inner folds", _logistic, effort=1),
        Method(
            "svm",
            "RBF SVM",
            "C and gamma tuned by inner folds",
            _svm,
            steep=True,
            quick={"gamma": "scale"},
        ),
        Method("forest", "random forest", "200 trees", _forest, effort=2),
        Method("boosting", "gradient boosting", "histogram-based, 100 rounds", _boosting, effort=2),
        Method(
            "strata",
            "strata ensemble",
            "a member per stratum, behind a gate",
            _strata,
            ours=True,
            steep=True,
            takes=("groups",),
            takes_blocks=True,
        ),
        Method(
            "strata-sources",
            "strata of sources",
            "a member per known source behind a gate, pooled with an SVM; needs sources",
            _strata_sources,
            ours=True,
            steep=True,
            takes=("sources", "groups"),
            needs_sources=True,
        ),
        Method(
            "strata-paper",
            "strata ensemble (paper)",
            "20 linear SVMs on strata of 40 % of the rows, stacked as in the paper",
            _strata_paper,
            ours=True,
            steep=True,
            quick=None,
        ),
        Method(
            "subspace",
            "joint subspaces",
            "members on features chosen while they learn; product or gate",
            _subspace,
            ours=True,
            steep=True,
            quick={"fusion": "product"},
        ),
        Method(
            "bayesnet",
            "Bayesian network",
            "structure by K2 with the leave-one-out score",
            _bayesnet,
            ours=True,
            effort=1,
            takes_tables=True,
        ),
        Method(
            "inner-bayesnet",
            "inner Bayesian network",
            "one network, its structure and tables the decisions of 30 samples",
            _inner_bayesnet,
            ours=True,
            effort=1,
            takes_tables=True,
            quick=None,
            most_columns=300,
        ),
        Method(
            "tree",
            "crowd tree",
            "one tree of 16 leaves at most, its thresholds placed by 30 samples",
            _tree,
            ours=True,
            effort=1,
            takes_tables=True,
            takes=("groups",),
        ),
        Method(
            "auto",
            "pool",
            "usual members and ours, tuned on shared folds and fused by what they are worth",
            _auto,
            ours=True,
            steep=True,
            takes=("sources", "groups"),
            quick=None,
            takes_tables=True,
            encodes=True,
            judges_itself=True,
        ),
    )
}

RIDGE_GRID: dict[str, list[Any]] = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
SVR_GRID: dict[str, list[Any]] = {
    "regressor__C": [0.1, 1.0, 10.0, 100.0],
    "regressor__gamma": ["scale", 0.01, 0.1],
}


def _mean(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyRegressor()


def _ridge(seed: int, n_jobs: int | None) -> Any:
    return tuned(Ridge(), RIDGE_GRID, seed, n_jobs)


def _svm_regressor(seed: int, n_jobs: int | None) -> Any:
    from sklearn.compose import TransformedTargetRegressor  # noqa: PLC0415  as below

    # its margin of 0.1 means something if the numbers have a standard deviation of 1
    scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return tuned(scaled, SVR_GRID, seed, n_jobs)


def _forest_regressor(seed: int, n_jobs: int | None) -> Any:
    return RandomForestRegressor(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting_regressor(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingRegressor(random_state=seed)


def _strata_regressor(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleRegressor  # noqa: PLC0415  only what is asked for

    return StrataEnsembleRegressor(random_state=seed, n_jobs=n_jobs)


def _strata_sources_regressor(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.sources import SourceStrata  # noqa: PLC0415
    from ensemblage.strata import StrataEnsembleRegressor  # noqa: PLC0415

    return StrataEnsembleRegressor(SourceStrata(), anchor="svm", random_state=seed, n_jobs=n_jobs)


def _subspace_regressor(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.subspace import JointSubspaceRegressor  # noqa: PLC0415

    return JointSubspaceRegressor(C="auto", random_state=seed, n_jobs=n_jobs)


def _tree_regressor(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerTreeRegressor  # noqa: PLC0415

    return InnerTreeRegressor(random_state=seed, n_jobs=n_jobs)


def _auto_regressor(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.pool import EnsemblageRegressor  # noqa: PLC0415

    return EnsemblageRegressor(random_state=seed, n_jobs=n_jobs)


NUMBER_METHODS = {
    method.name: method
    for method in (
        Method("mean", "mean", "always the mean", _mean, effort=0),
        Method("ridge", "ridge regression", "alpha tuned by inner folds", _ridge, effort=1),
        Method(
            "svm",
            "RBF SVM",
            "C and gamma tuned by inner folds, numbers standardised",
            _svm_regressor,
            steep=True,
            quick={"regressor__gamma": "scale"},
        ),
        Method("forest", "random forest", "200 trees", _forest_regressor, effort=2),
        Method(
            "boosting",
            "gradient boosting",
            "histogram-based, 100 rounds",
            _boosting_regressor,
            effort=2,
        ),
        Method(
            "strata",
            "strata ensemble",
            "a member per stratum, their densities behind a gate",
            _strata_regressor,
            ours=True,
            steep=True,
            takes=("groups",),
            takes_blocks=True,
        ),
        Method(
            "strata-sources",
            "strata of sources",
            "a member per known source behind a gate, pooled with an SVM; needs sources",
            _strata_sources_regressor,
            ours=True,
            steep=True,
            takes=("sources", "groups"),
            needs_sources=True,
        ),
        Method(
            "subspace",
            "joint subspaces",
            "members on features chosen while they learn; product of their densities",
            _subspace_regressor,
            ours=True,
            steep=True,
            quick={"C": 1.0},
        ),
        Method(
            "tree",
            "crowd tree",
            "one tree of 16 leaves at most, its thresholds placed by 30 samples",
            _tree_regressor,
            ours=True,
            effort=1,
            takes_tables=True,
            takes=("groups",),
        ),
        Method(
            "auto",
            "pool",
            "usual members and ours, tuned on shared folds, their densities multiplied",
            _auto_regressor,
            ours=True,
            steep=True,
            takes=("groups",),
            quick=None,
            takes_tables=True,
            encodes=True,
            judges_itself=True,
        ),
    )
}


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


METHODS_OF: Mapping[str, Mapping[str, Method]] = {
    CLASSIFICATION.name: METHODS,
    REGRESSION.name: NUMBER_METHODS,
}
"""By the name of the task."""


@set_module("ensemblage.studies")
class UnknownMethodError(ValueError):
    """No method has that name."""


def get_method(name: str, task: str = CLASSIFICATION.name) -> Method:
    """Look up a method.

    Parameters
    ----------
    name : str
        Its name.
    task : {"classification", "regression"}, default="classification"
        Whether it is to predict classes or numbers.

    Returns
    -------
    Method
        The method of that name.
    """
    known = METHODS_OF[task]
    if name in known:
        return known[name]
    others = [TASKS[each].targets for each, methods in METHODS_OF.items() if name in methods]
    if others:
        raise UnknownMethodError(
            f"The method {name!r} predicts {others[0]}, not {TASKS[task].targets}. There are: "
            f"{', '.join(known)}."
        )
    raise UnknownMethodError(
        f"There is no method {name!r}.{suggestion(name, known)} There are: {', '.join(known)}."
    )


def check_method_name(name: str) -> None:
    """Refuse a name that no method has, before it is known what is to be predicted."""
    every = dict.fromkeys(each for methods in METHODS_OF.values() for each in methods)
    if name not in every:
        raise UnknownMethodError(
            f"There is no method {name!r}.{suggestion(name, every)} There are: {', '.join(every)}."
        )


def in_blocks(name: str) -> bool:
    """Tell whether a method of that name can be fitted to rows that are read in blocks."""
    return any(methods[name].takes_blocks for methods in METHODS_OF.values() if name in methods)


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
        Whether a method that is given by its name is to predict classes or numbers.

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
    estimator = method.factory(seed, n_jobs)
    encoder = TableEncoder(
        kinds=list(columns.kinds), categories=_listed(columns), random_state=seed
    )
    if method.takes_tables:
        as_it_is = FunctionTransformer(feature_names_out="one-to-one")
        if "categories" in estimator.get_params(deep=False):
            estimator.set_params(categories=_listed(columns))
        if method.encodes:
            estimator.set_params(encode=encoder)
        return Pipeline([("table", as_it_is), ("model", estimator)])
    return Pipeline([("table", encoder), ("model", estimator)])


def _listed(columns: ColumnTypes) -> list[list[str] | None]:
    return [None if known is None else list(known) for known in columns.categories]


Given: TypeAlias = Mapping[str, Any] | Iterable[Any] | None
"""Names, estimators, or both; a mapping calls each by a name; None stands for the usual ones."""


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
    if isinstance(given, Mapping):
        found = {str(name): _called(_method(each, str(name), task), str(name))
                 for name, each in given.items()}  # fmt: skip
    else:
        found = {}
        for each in given:
            method = _method(each, type(each).__name__, task)
            if found.get(method.name, method) is not method:
                raise ValueError(
                    f"`methods` has two estimators called {method.name!r}: give a mapping from "
                    "names of your own to the estimators."
                )
            found[method.name] = method
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
        for name, each in METHODS_OF[task.name].items()
        if (sources or not each.needs_sources)
        and not (quick and each.quick is None)
        and not _too_many(n_columns, each)
    ]


def wide_notes(task: Task, quick: bool, n_columns: int) -> list[str]:
    """Say which of the usual methods do not take so many columns."""
    return [
        f"{each.label} is left out: its time grows with the square of the columns, and there are "
        f"more than {each.most_columns}. Name it by `methods` to have it all the same."
        for each in METHODS_OF[task.name].values()
        if _too_many(n_columns, each) and not (quick and each.quick is None)
    ]


def _too_many(n_columns: int, method: Method) -> bool:
    return method.most_columns is not None and n_columns > method.most_columns


def digest_of(method: Method) -> str:
    """Tell estimators of the same name apart by a hash; a method of the registry has none."""
    known = any(methods.get(method.name) is method for methods in METHODS_OF.values())
    return "" if known else str(joblib.hash(method.factory))


def _method(given: Any, name: str, task: Task) -> Method:
    if isinstance(given, str):
        return get_method(given, task.name)
    predicts, wanted = (
        (is_regressor, "regressor") if task is REGRESSION else (is_classifier, "classifier")
    )
    if not hasattr(given, "fit") or not predicts(given):
        raise TypeError(
            f"`methods` has {given!r} as {name!r}: give the name of a method, one of "
            f"{', '.join(METHODS_OF[task.name])}, or a {wanted} that is not fitted."
        )
    ours = type(given).__module__.partition(".")[0] == "ensemblage"
    return Method(
        name, name, "an estimator of one's own", partial(_copy, given), ours=ours,
        takes_tables=isinstance(given, Pipeline),
    )  # fmt: skip


def _called(method: Method, name: str) -> Method:
    return method if method.name == name else replace(method, name=name, label=name)


def _copy(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs  # free seeds are set by the study
    return clone(estimator)
