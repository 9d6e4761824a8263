import inspect
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from sklearn.base import BaseEstimator

import ensemblage
from ensemblage.messages import DOCUMENTATION

ROOT = Path(__file__).parents[2]
ESTIMATORS = [
    (package.name, value)
    for package in iter_modules(ensemblage.__path__)
    if package.ispkg
    for door in [import_module(f"ensemblage.{package.name}")]
    for value in (getattr(door, name) for name in getattr(door, "__all__", ()))
    if inspect.isclass(value) and issubclass(value, BaseEstimator) and not inspect.isabstract(value)
]


@pytest.mark.parametrize(("package", "estimator"), ESTIMATORS, ids=lambda each: str(each)[-40:])
def test_link_leads_to_the_page_of_the_class(package, estimator):
    link = estimator._get_doc_link(object.__new__(estimator))
    assert link == f"{DOCUMENTATION}generated/ensemblage.{package}.{estimator.__name__}.html"


def test_there_is_one_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == DOCUMENTATION


def test_html_shows_it():
    from ensemblage.strata import HISS

    assert f"{DOCUMENTATION}generated/ensemblage.strata.HISS.html" in HISS()._repr_html_()
