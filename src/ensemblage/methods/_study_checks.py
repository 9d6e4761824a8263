"""What is wrong with a study for a dataset, said before any work starts."""

from __future__ import annotations

from sklearn.model_selection import GridSearchCV

from ensemblage.datasets import Dataset
from ensemblage.messages import suggestion
from ensemblage.methods._registry import get_method, make_model
from ensemblage.methods._splits import Splits
from ensemblage.methods._study import MethodPoint
from ensemblage.methods._study_cell import set_method_params
from ensemblage.runs import ExperimentFileError


def check_splits(dataset: Dataset, splits: Splits) -> None:
    """Refuse folds or shares that cannot be drawn."""
    most = max(dataset.classes.values())
    if splits.folds is not None and most < splits.folds:
        raise ExperimentFileError(
            f"folds is {splits.folds}, but no class of {dataset.name!r} has more than {most} rows: "
            "use fewer folds."
        )
    if splits.folds is None:
        try:
            splits.rows(dataset, 0, 0)
        except ValueError as error:
            raise ExperimentFileError(
                f"test_share is {splits.test_share}, which does not suit {dataset.name!r}: {error}"
            ) from None


def check_method(point: MethodPoint, dataset: Dataset) -> None:
    """Refuse parameters that a method does not have or take."""
    where = f"The method {point.label!r}"
    if "sources" in get_method(point.name).takes and dataset.sources is None:
        raise ExperimentFileError(
            f"{where} needs to know where rows come from, but the dataset {dataset.name!r} has no "
            'source: name the column by source = "...".'
        )
    model = make_model(point.name, dataset.kinds, seed=0)
    inner = model[-1].estimator if isinstance(model[-1], GridSearchCV) else model[-1]
    known = [name for name in inner.get_params() if not name.endswith("random_state")]
    for name, value in point.params.items():
        if name.endswith("random_state"):
            raise ExperimentFileError(f"{where}: {name} cannot be set; seed sets them all.")
        if name not in known:
            raise ExperimentFileError(
                f"{where}: params.{name} = {value!r} is not a parameter of "
                f"{type(inner).__name__}.{suggestion(name, known)} Its parameters are: "
                f"{', '.join(each for each in known if '__' not in each)}."
            )
    set_method_params(model, point.params)
    try:
        inner._validate_params()  # noqa: SLF001  scikit-learn's own check, which fit runs too late
    except ValueError as error:
        raise ExperimentFileError(f"{where}: {error}") from None
