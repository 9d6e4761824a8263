"""Every test and every example starts without open figures."""

import sys
from importlib.metadata import version

import pytest

if tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 9):
    collect_ignore = ["docs/guide/compare.md"]  # its figures are those of newer versions


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close what a test has drawn; figures of many would be kept by pyplot."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
