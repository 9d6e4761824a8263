"""Every test and every example starts without open figures."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close what a test has drawn; figures of many would be kept by pyplot."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
