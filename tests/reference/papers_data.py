"""The fifteen sets of Tables 2 and 3, read plainly."""

import csv
import json

import numpy as np


def read(shared, name):
    """All features as numbers (categories by their declared position), and the class."""
    declared = json.loads((shared / "data" / "manifest.json").read_text())[name]["categories"]
    with (shared / "data" / f"{name}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = list(zip(*rows, strict=True))
    X = [
        [declared[column].index(value) for value in values] if column in declared
        else [float(value) for value in values]
        for column, values in zip(header[:-1], columns, strict=False)
    ]  # fmt: skip
    return np.array(X, float).T.copy(), np.unique(columns[-1], return_inverse=True)[1]
