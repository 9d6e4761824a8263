"""Datasets of the papers, with the types that their manifest declares."""

import json

import pandas as pd


def load(shared, name):
    """Give the features as a frame and the class as a categorical series."""
    declared = json.loads((shared / "data" / "manifest.json").read_text())[name]
    frame = pd.read_csv(shared / "data" / f"{name}.csv", dtype=str, keep_default_na=False)
    for column in frame.columns:
        cells = frame[column].where(frame[column] != "")
        if column in declared["numeric"]:
            frame[column] = pd.to_numeric(cells)
        else:
            frame[column] = pd.Categorical(cells, categories=declared["categories"][column])
    return frame.drop(columns="class"), frame["class"]
