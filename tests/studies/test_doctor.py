"""The doctor's findings, of a machine that is well and of one that is not."""

import re
import tomllib
from pathlib import Path

import pytest

from ensemblage.inner import own_distances
from ensemblage.studies import _doctor, examine


def test_this_machine_is_well():
    found = examine()
    assert found.healthy, found.tests
    assert [test.error for test in found.tests] == [None, None]
    assert found.cache == own_distances.cache_folder
    assert found.cache_writable
    assert found.cores >= 1
    assert None not in found.versions.values()


def test_what_goes_wrong_is_told_and_the_rest_is_tried(monkeypatch):
    def bad():
        raise OSError("no\n  such disk")

    monkeypatch.setattr(_doctor, "TESTS", {"first": bad, "second": lambda: None})
    found = examine()
    assert not found.healthy
    assert [test.error for test in found.tests] == ["OSError: no such disk", None]


def test_a_kernel_that_errs_is_found(monkeypatch):
    monkeypatch.setattr(_doctor, "own_distances", lambda rows, *_: rows[:, 0])
    with pytest.raises(ArithmeticError, match="the compiled kernel and NumPy disagree"):
        _doctor._kernel_agrees()


def test_missing_packages_of_an_extra_are_named(monkeypatch):
    monkeypatch.setattr(_doctor, "find_spec", lambda name: None if name == "jinja2" else name)
    state = _doctor._state("report", ("jinja2", "matplotlib"))
    assert state.missing == ("jinja2",)
    assert state.install == 'pip install "ensemblage[report]"'


def test_extras_are_those_of_the_package():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["optional-dependencies"]
    assert set(declared) == set(_doctor.EXTRAS)
    for extra, packages in _doctor.EXTRAS.items():
        names = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in declared[extra]}
        assert {"dask" if name == "distributed" else name for name in packages} <= names


def test_a_folder_that_is_not_there_yet_can_be_made(tmp_path):
    assert _doctor._can_write(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    assert not _doctor._can_write(tmp_path / "file")
