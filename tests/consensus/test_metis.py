import sys

import pytest

from consensus.noisy import TRUTH, noisy_partitions
from ensemblage.consensus import CSPA, HBGF, MCLA


@pytest.mark.parametrize("method", [CSPA, HBGF, MCLA])
def test_a_missing_package_is_named_with_the_extra(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    expected = rf"{method.__name__} needs pymetis, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        method(3).fit_partitions(noisy_partitions(TRUTH))
