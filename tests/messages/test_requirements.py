import math

import pytest

from ensemblage.messages import require


def test_what_is_installed_is_imported():
    assert require("math", "Counting") is math


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    with pytest.raises(ImportError) as caught:
        require("no_such.part", "Running on a cluster", extra="dask")
    assert str(caught.value) == (
        "Running on a cluster needs no_such, which comes with the extra `dask`: "
        'pip install "ensemblage[dask]".'
    )


def test_a_package_of_no_extra_is_installed_alone_or_done_without():
    with pytest.raises(ImportError) as caught:
        require("no_such", "to_networkx", otherwise="Or use to_dot.")
    assert str(caught.value) == "to_networkx needs no_such: pip install no_such. Or use to_dot."
