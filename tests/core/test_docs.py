import inspect
import pickle
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from sklearn.base import BaseEstimator

import ensemblage
from ensemblage._core import with_shared
from ensemblage._core._docs import DOCUMENTATION

SHARED = r"""
tol : float, default=1e-4
    Stop below this.
init : {"near", "far"} or array-like, \
        default="far"
    Where to start.

    At random otherwise.
mean_, scale_ : ndarray
    What the columns are standardised with.
"""


@with_shared(SHARED)
class Described:
    r"""Do something.

    Parameters
    ----------
    n : int
        Of its own.
    {tol}

    Attributes
    ----------
    {mean_, scale_}

    Notes
    -----
    The tolerance {tol} of :math:`\frac{a}{b}`, and

    {tol, other}
    {}
    """


def test_entries_take_the_place_and_the_indentation_of_their_name():
    assert inspect.getdoc(Described).splitlines()[4:13] == [
        "n : int",
        "    Of its own.",
        "tol : float, default=1e-4",
        "    Stop below this.",
        "",
        "Attributes",
        "----------",
        "mean_, scale_ : ndarray",
        "    What the columns are standardised with.",
    ]


def test_braces_that_name_no_entry_stay():
    assert inspect.getdoc(Described).splitlines()[-4:] == [
        r"The tolerance {tol} of :math:`\frac{a}{b}`, and",
        "",
        "{tol, other}",
        "{}",
    ]


def test_one_line_names_several_entries_in_its_own_order():
    def documented():
        pass

    documented.__doc__ = "  {init, tol}\n"
    assert with_shared(SHARED)(documented) is documented
    assert documented.__doc__ == (
        '  init : {"near", "far"} or array-like, \\\n'
        '          default="far"\n'
        "      Where to start.\n"
        "\n"
        "      At random otherwise.\n"
        "  tol : float, default=1e-4\n"
        "      Stop below this.\n"
    )


def test_a_class_stays_itself():
    class Plain:
        """{tol}"""

    assert with_shared(SHARED)(Plain) is Plain
    assert type(pickle.loads(pickle.dumps(Described()))) is Described  # noqa: S301


def test_without_docstrings_nothing_is_filled():
    code = (
        "from ensemblage._core import with_shared\n"
        "@with_shared('tol : float\\n    Stop.')\n"
        "def documented():\n"
        "    '''{tol}'''\n"
        "print(documented.__doc__)\n"
    )
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, check=True)
    assert done.stdout.split() == [b"None"]


def exported():
    for package in iter_modules(ensemblage.__path__):
        module = import_module(f"ensemblage.{package.name}")
        yield from (getattr(module, name) for name in getattr(module, "__all__", ()))


def test_no_exported_docstring_has_a_placeholder():
    place = re.compile(r"(?m)^ *\{[\w, ]+\}$")
    assert [each for each in exported() if place.search(each.__doc__ or "")] == []


ROOT = Path(__file__).parents[2]


ESTIMATORS = [
    (package.name, value)
    for package in iter_modules(ensemblage.__path__)
    if package.ispkg
    for module in [import_module(f"ensemblage.{package.name}")]
    for value in (getattr(module, name) for name in getattr(module, "__all__", ()))
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
