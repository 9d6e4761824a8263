"""The methods that can be compared and fitted, by name: strong baselines, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from ensemblage.datasets import Columns
from ensemblage.messages import suggestion
from ensemblage.methods._inner_folds import InnerFolds
from ensemblage.tables import TableEncoder

LOGISTIC_GRID: dict[str, list[Any]] = {"C": [0.01, 0.1, 1.0, 10.0]}
# "scale" stands for 1 over the number of features, as these are standardised.
SVM_GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
INNER_FOLDS = 3


class UnknownMethodError(ValueError):
    """No method has that name."""


@dataclass(frozen=True)
class Method:
    """A way to learn a classifier, under a name.

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
        What its ``fit`` takes beside rows and classes. One that takes sources answers rows by
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
    encodes : bool, default=False
        Whether it takes tables through an encoder of its own, which is told the kinds of columns.
    judges_itself : bool, default=False
        Whether a fit tells by itself what the method says of rows that it has not seen.
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
    encodes: bool = False
    judges_itself: bool = False

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


def _majority(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyClassifier(strategy="prior")


def _tuned(estimator: Any, grid: dict[str, list[Any]], seed: int, n_jobs: int | None) -> Any:
    return GridSearchCV(estimator, grid, cv=InnerFolds(INNER_FOLDS, seed), n_jobs=n_jobs)


def _logistic(seed: int, n_jobs: int | None) -> Any:
    return _tuned(LogisticRegression(max_iter=2000), LOGISTIC_GRID, seed, n_jobs)


def _svm(seed: int, n_jobs: int | None) -> Any:
    return _tuned(SVC(), SVM_GRID, seed, n_jobs)


def _forest(seed: int, n_jobs: int | None) -> Any:
    return RandomForestClassifier(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingClassifier(random_state=seed)


def _strata(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415  as below: only what is asked for

    return StrataEnsembleClassifier(random_state=seed, n_jobs=n_jobs)


def _strata_sources(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import SourceStrata, StrataEnsembleClassifier  # noqa: PLC0415

    return StrataEnsembleClassifier(SourceStrata(), anchor="svm", random_state=seed, n_jobs=n_jobs)


def _strata_paper(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415

    return StrataEnsembleClassifier.paper(random_state=seed, n_jobs=n_jobs)


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


def get_method(name: str) -> Method:
    """Look up a method.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Method
        The method of that name.
    """
    if name not in METHODS:
        raise UnknownMethodError(
            f"There is no method {name!r}.{suggestion(name, METHODS)} There are: "
            f"{', '.join(METHODS)}."
        )
    return METHODS[name]


def make_model(
    name: str | Method, columns: Columns, seed: int, n_jobs: int | None = None
) -> Pipeline:
    """Make an unfitted model that takes a dataset's matrix: an encoder, then a method.

    Parameters
    ----------
    name : str or Method
        The method.
    columns : Columns
        Kinds and declared categories, as in ``Dataset.columns``.
    seed : int
        The only source of randomness.
    n_jobs : int, default=None
        As in joblib.

    Returns
    -------
    Pipeline
        With the steps ``table``, a :class:`~ensemblage.tables.TableEncoder`, and ``model``; the
        first hands the values on as they are if the method takes tables.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.methods import make_model
    >>> iris = load_dataset("iris")
    >>> model = make_model("logistic", iris.columns, seed=0).fit(iris.X, iris.y)
    >>> round(model.score(iris.X, iris.y), 2)
    0.98
    """
    method = name if isinstance(name, Method) else get_method(name)
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


def _listed(columns: Columns) -> list[list[str] | None]:
    return [None if known is None else list(known) for known in columns.categories]
