"""Numbers and words with missing values, turned into what any estimator takes."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ensemblage.datasets._table import DATE, NUMBER, WORD


def table_encoder(kinds: Sequence[str], *, max_categories: int = 100) -> ColumnTransformer:
    """Make the preprocessing step for a table's matrix.

    Numbers: a missing value becomes the median, with a column that marks it, and columns are
    scaled to mean 0 and variance 1. Words: a missing value becomes the category ``missing``, and
    each category a column of zeros and ones; a category not seen in training is all zeros.

    Parameters
    ----------
    kinds : sequence of {"number", "word", "date"}
        The kind of each column, as in ``Dataset.kinds``.
    max_categories : int, default=100
        Rare categories of a column are put together, so that it makes at most so many columns.

    Returns
    -------
    ColumnTransformer
        To be fitted on ``Dataset.X``; an ordinary scikit-learn transformer.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.datasets import table_encoder
    >>> X = np.array([[1.0, "a"], [3.0, None], [np.nan, "b"]], dtype=object)
    >>> table_encoder(["number", "word"]).fit_transform(X).shape
    (3, 5)
    """
    unknown = sorted(set(kinds) - {NUMBER, WORD, DATE})
    if unknown:
        raise ValueError(f"kinds must be 'number', 'word' or 'date', got {unknown[0]!r}.")
    kinds = [NUMBER if kind == DATE else kind for kind in kinds]
    parts = [
        (f"{kind}s", make(max_categories), [j for j, each in enumerate(kinds) if each == kind])
        for kind, make in ((NUMBER, _numbers), (WORD, _words))
        if kind in kinds
    ]
    return ColumnTransformer(parts, sparse_threshold=0.0)


def _numbers(_: int) -> Pipeline:
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(impute, StandardScaler())


def _words(max_categories: int) -> Pipeline:
    impute = SimpleImputer(
        missing_values=None, strategy="constant", fill_value="missing", keep_empty_features=True
    )
    encode = OneHotEncoder(
        handle_unknown="ignore", sparse_output=False, max_categories=max_categories
    )
    return make_pipeline(impute, encode)
