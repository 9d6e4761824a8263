"""Models that cannot be looked into."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from ensemblage.report import explain_model

X = np.column_stack([np.arange(40.0), np.zeros(40)])
Y = (np.arange(40) >= 20).astype(int)
MODEL = DecisionTreeClassifier(random_state=0).fit(X, Y)


def test_the_column_that_decides_is_needed():
    facts = explain_model(MODEL, X, Y, columns=["age", "idle"]).document
    assert facts.accuracy == 1.0
    assert facts.columns == ["age", "idle"]
    assert facts.importance[0] > 0.3
    assert facts.importance[1] == 0.0


def test_legend_warns_that_training_rows_are_optimistic():
    text = explain_model(MODEL, X, Y).text()[-1]
    assert "On training rows the score is optimistic" in text


def test_the_same_twice():
    first, second = (explain_model(MODEL, X, Y).document for _ in range(2))
    assert first == second


def test_errors_name_what_is_needed():
    with pytest.raises(ValueError, match="permutation importance: give rows with their target"):
        explain_model(MODEL, X)
    with pytest.raises(ValueError, match=r"exact contributions.*Leave out `row`"):
        explain_model(MODEL, X, Y, row=0)


def test_a_page_names_the_most_important():
    (sentence,) = explain_model(MODEL, X, Y, columns=["age", "idle"]).sentences
    assert sentence.endswith("1.0000 on the 40 rows given; the most important column is age.")
