"""Self-test of the installation."""

import re
import tomllib
from pathlib import Path

import pytest

from ensemblage.inner import own_distances
from ensemblage.studies import _doctor, examine


def test_all_tests_pass_here():
    found = examine()
    assert found.healthy, found.tests
    assert [test.error for test in found.tests] == [None, None]
    assert found.cache == own_distances.cache_folder
    assert found.cache_writable
    assert found.cores >= 1
    assert None not in found.versions.values()


def test_a_failed_test_is_reported_and_the_others_run(monkeypatch):
    def bad():
        raise OSError("no\n  such disk")

    monkeypatch.setattr(_doctor, "TESTS", {"first": bad, "second": lambda: None})
    found = examine()
    assert not found.healthy
    assert [test.error for test in found.tests] == ["OSError: no such disk", None]


def test_a_wrong_kernel_is_found(monkeypatch):
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


def test_a_missing_folder_can_be_created(tmp_path):
    assert _doctor._can_write(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    assert not _doctor._can_write(tmp_path / "file")
