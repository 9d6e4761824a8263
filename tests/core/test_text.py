import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage._core import (
    count,
    listed,
    listing,
    no_formula,
    plain_name,
    require,
    suggestion,
    visible,
    warn_user,
    write_number,
)
from ensemblage.inner import InnerKMeans
from ensemblage.sources import PartialPoolingClassifier
from ensemblage.strata import HISS, ScaledLogisticRegression, StrataEnsembleClassifier


def test_one_is_singular_and_all_else_is_plural():
    assert count(1, "row") == "1 row"
    assert count(0, "row") == "0 rows"
    assert count(3, "class", "classes") == "3 classes"


def test_names_are_listed_with_an_and_before_the_last():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ScaledLogisticRegression", "scaled logistic regression"),
        ("SVC", "SVC"),
        ("LightGBMTrees", "light GBM trees"),
        ("Gate", "gate"),
    ],
)
def test_class_names_are_split_into_words(name, expected):
    assert plain_name(name) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(59410.4, "59410"), (-123456.0, "-123456"), (0.000012345, "1.234e-05"), (2.5, "2.5"),
     (3.2e20, "3.2e+20")],
)  # fmt: skip
def test_numbers_have_four_digits_and_no_exponent(value, text):
    assert write_number(value) == text


def test_text_helpers_import_nothing_slow():
    code = "import sys, ensemblage._core._text; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_lists_are_cut_short():
    assert listing([]) == ""
    assert listing(["a", 2]) == "a, 2"
    assert listing("abcd", limit=2) == "a, b and 2 more"
    assert listing("ab", limit=2, total=7) == "a, b and 5 more"


def test_the_closest_name_is_proposed_whatever_its_case():
    assert suggestion("IRS", ["wine", "Iris"]) == " Did you mean 'Iris'?"
    assert suggestion("zebra", ["wine", "Iris"]) == ""


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


def test_control_characters_are_escaped():
    assert visible("a\x1b[31m\u202eb\n\tc") == "a\\u001b[31m\\u202eb\n\tc"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx"])
def test_formulas_get_an_apostrophe(text):
    assert no_formula(text) == f"'{text}"


@pytest.mark.parametrize("field", ["-1.5", "+2e3", "a=b", "", "-", "+", None, -3.0])
def test_what_is_no_formula_stays(field):
    assert no_formula(field) == field


X, Y = load_iris(return_X_y=True)


CONSTANT = np.c_[X, np.ones(150)]


ASKED = {
    "strata of one class": lambda: StrataEnsembleClassifier(random_state=0).fit(X, Y),
    "few rows of a class": lambda: StrataEnsembleClassifier(random_state=0).fit(
        X, np.arange(150) < 3
    ),
    "max_iter": lambda: HISS(3, 0.4, max_iter=1).fit(X),
    "constant column": lambda: HISS(3, 0.4, random_state=0).fit(CONSTANT),
    "lbfgs": lambda: ScaledLogisticRegression(max_iter=1).fit(X, Y),
    "passes": lambda: InnerKMeans(3, max_iter=1).fit(X),
    "sources": lambda: PartialPoolingClassifier().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), HISS(3, 0.4, max_iter=1)).fit(X),
    "folds": lambda: cross_val_score(ScaledLogisticRegression(max_iter=1), X, Y, cv=2),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_warning_names_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ASKED[name]()
    assert warned
    assert {each.filename for each in warned} == {__file__}


def test_category_and_message():
    with pytest.warns(ConvergenceWarning, match="some message"):
        warn_user("some message", ConvergenceWarning)
    with pytest.warns(UserWarning, match="as usual"):
        warn_user("as usual")
