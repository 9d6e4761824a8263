"""Predictions of Dask collections, block by block, where the blocks are."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from ensemblage.datasets import align_columns
from ensemblage.messages import require
from ensemblage.methods._given_rows import frame_table
from ensemblage.methods._predictions import Predictions, predict_rows
from ensemblage.parallel import final_step
from ensemblage.persistence import SavedModel


def predict_dask(model: Any, rows: Any) -> Any:
    """Predict the rows of a Dask collection without bringing them together.

    Nothing is computed here: what comes back is a Dask collection with the same partitions, whose
    blocks are predicted where and when they are asked for.

    Parameters
    ----------
    model : estimator or SavedModel
        A fitted classifier or regressor, or a saved one, as ``load`` gives it. A saved one takes
        its columns by name, and its sources, if it is told them.
    rows : dask.dataframe.DataFrame or dask.array.Array
        The new rows.

    Returns
    -------
    dask.dataframe.DataFrame or dask.array.Array
        Of a frame: a frame with the columns that :func:`predict_file` writes, under the same index.
        Of an array: the predicted class or number of each row, shape (n_rows,).

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemblage.methods import predict_dask
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> found = predict_dask(model, da.from_array([[-1.0], [2.0], [3.0]], chunks=(2, 1)))
    >>> found.chunks, found.compute().tolist()
    (((2, 1),), ['no', 'yes', 'yes'])
    """
    if hasattr(rows, "map_partitions") and hasattr(rows, "columns"):
        return rows.map_partitions(_frame, model, meta=_meta(model))
    if not hasattr(rows, "map_blocks"):
        raise TypeError(
            f"A Dask dataframe or array is expected, got {type(rows).__name__}: for rows in memory "
            "use `predict_rows`, for a file `predict_file`."
        )
    if getattr(rows, "ndim", 0) != 2:
        raise ValueError(f"The array must have two dimensions, got the shape {rows.shape}.")
    estimator = model.model if isinstance(model, SavedModel) else model
    whole = rows.rechunk({1: -1})
    kind = getattr(estimator, "classes_", np.zeros(0)).dtype
    return whole.map_blocks(_labels, estimator, drop_axis=1, dtype=kind)


def _labels(block: Any, estimator: Any) -> Any:
    return estimator.predict(np.asarray(block))


def _frame(part: Any, model: Any) -> Any:
    """Predict a partition of a frame."""
    none = _meta(model)
    found = _predicted(part, model).columns() if len(part) else {}
    pandas = require("pandas", "Predicting a Dask dataframe")
    made = pandas.DataFrame(found, index=part.index, columns=none.columns)
    return made.astype(none.dtypes)


def _meta(model: Any) -> Any:
    """Give a frame without rows, of the columns and types that predictions have."""
    estimator = model.model if isinstance(model, SavedModel) else model
    labels = getattr(estimator, "classes_", None)
    if labels is None:
        spreads = "return_std" in signature(final_step(estimator).predict).parameters
        names = ["prediction", *(["spread", "low", "high"] if spreads else [])]
        columns: dict[str, Any] = {name: np.zeros(0) for name in names}
    else:
        shares = labels if hasattr(estimator, "predict_proba") else ()
        columns = {"prediction": np.zeros(0, dtype=object)}
        columns |= {f"probability_{label}": np.zeros(0) for label in shares}
    return require("pandas", "Predicting a Dask dataframe").DataFrame(columns)


def _predicted(part: Any, model: Any) -> Predictions:
    if not isinstance(model, SavedModel):
        return predict_rows(model, part)
    source = None if model.source is None else model.source.name
    kinds = dict(zip(model.columns, model.kinds, strict=True)) | {source: "word"}
    table = frame_table(part, kinds)
    beside = {*model.ignored, *([] if source is None else [source])}
    X = align_columns(table, model.columns, model.target, beside).to_rows()
    told = None if source not in table.names else table.column(source)
    return predict_rows(model.model, X, told)
