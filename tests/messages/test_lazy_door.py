import subprocess
import sys

import pytest

from ensemblage import (
    bayes,
    datasets,
    evaluation,
    explain,
    fusion,
    inner,
    kernels,
    methods,
    pages,
    parallel,
    persistence,
    strata,
)
from ensemblage.messages import lazy_door

DOOR = """
from typing import TYPE_CHECKING
from json import dumps
if TYPE_CHECKING:
    from math import pi, tau as turn
    from fractions import Fraction as Fraction
"""


def test_names_are_imported_when_asked_for(tmp_path):
    path = tmp_path / "door.py"
    path.write_text(DOOR)
    get, names = lazy_door("door", str(path))
    assert names() == ["Fraction", "pi", "turn"]
    assert get("turn") == 2 * get("pi")
    with pytest.raises(AttributeError, match="module 'door' has no attribute 'dumps'"):
        get("dumps")


DOORS = [
    bayes, datasets, evaluation, explain, fusion, inner, kernels, methods, pages, parallel,
    persistence, strata,
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_lazy_doors_have_all_that_they_promise(door):
    assert set(getattr(door, "__all__", ())) <= set(dir(door))
    for name in dir(door):
        assert getattr(door, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        door.nothing  # noqa: B018


def test_lazy_doors_import_nothing_by_themselves():
    script = (
        f"import sys, {', '.join(door.__name__ for door in DOORS)}\n"
        "print(sorted({'numpy', 'sklearn', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
