import csv

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler


@pytest.fixture
def paper_set(shared):
    """Load a numeric dataset of the papers, scaled to [0, 1]: rows and labels."""

    def load(name, max_rows=None):
        with (shared / "data" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            cells = np.array(list(csv.reader(file))[1:][:max_rows])
        return MinMaxScaler().fit_transform(cells[:, :-1].astype(float)), cells[:, -1]

    return load


@pytest.fixture
def groups():
    """Three groups of rows, well apart, with two classes in each."""
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 40, axis=0)
    X = centres + rng.normal(size=(120, 2))
    offset = X - centres
    turn = np.repeat([1.0, -1.0, 1.0], 40)
    return X, np.where(offset[:, 0] + turn * offset[:, 1] > 0, "up", "down")
