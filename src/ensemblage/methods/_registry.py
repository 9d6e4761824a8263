"""Methods by what they predict and by name, and the models that they make."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ensemblage.datasets import Columns
from ensemblage.messages import CLASSIFICATION, REGRESSION, TASKS, suggestion
from ensemblage.methods._class_methods import METHODS
from ensemblage.methods._method import Method
from ensemblage.methods._number_methods import NUMBER_METHODS
from ensemblage.tables import TableEncoder

METHODS_OF: Mapping[str, Mapping[str, Method]] = {
    CLASSIFICATION.name: METHODS,
    REGRESSION.name: NUMBER_METHODS,
}
"""By the name of the task."""


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
    columns: Columns,
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
    columns : Columns
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


def _listed(columns: Columns) -> list[list[str] | None]:
    return [None if known is None else list(known) for known in columns.categories]
