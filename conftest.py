"""Every test and every example starts without open figures; no garbage is sought in vain."""

import atexit
import gc
import sys
from importlib.metadata import version

import pytest

if tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 9):
    collect_ignore = ["docs/guide/compare.md"]  # its figures are those of newer versions

# else the end of a process would look through all that thousands of tests have left
atexit.register(gc.freeze)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave alone what is collected: it stays, and going through it takes as long as collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close what a test has drawn; figures of many would be kept by pyplot."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
