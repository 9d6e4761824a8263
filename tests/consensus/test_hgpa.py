import sys

import pytest

from consensus.noisy import TRUTH, noisy_partitions
from ensemblage.consensus import HGPA
from ensemblage.consensus._hgpa import _partitioner


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    _partitioner.cache_clear()
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    expected = r"HGPA needs mtkahypar, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        HGPA(3).fit_partitions(noisy_partitions(TRUTH))
