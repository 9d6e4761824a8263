"""A comparison as text and HTML."""

import pytest
from msgspec.structs import replace

from ensemblage.datasets import load_dataset
from ensemblage.methods import compare, comparison_block
from ensemblage.pages import text_table


@pytest.fixture(scope="module")
def result():
    return compare(load_dataset("iris"), methods=["majority", "bayesnet", "logistic"], n_splits=3)


def test_print_shows_an_aligned_table_and_the_sentence(result):
    lines = str(result).splitlines()
    assert lines[0] == "iris: 150 rows, 4 columns, 3 classes; 3 folds, seed 0"
    assert lines[2].split() == ["method", "accuracy", "balanced", "log", "loss", "AUC", "seconds"]
    assert len(set(map(len, lines[3:7]))) == 1
    assert lines[4].startswith("logistic regression  0.9")
    assert "Bayesian network *" in lines[5]
    assert lines[-2] == result.verdict
    assert repr(result) == str(result)


def test_a_notebook_gets_html(result):
    page = result._repr_html_()
    assert page.count("<tr>") == 4
    assert '<td style="text-align: left">logistic regression</td>' in page
    assert result.verdict in page


def test_rows_are_plain(result):
    rows = result.rows()
    assert [row["method"] for row in rows] == ["logistic", "bayesnet", "majority"]
    assert rows[0]["score"] == rows[0]["accuracy"]


@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "log_loss", "auc", "f1"])
def test_the_table_fits_a_screen_of_80(result, measure):
    widest = replace(result.summary[0], label="strata ensemble (paper)", ours=True, seconds=1234.5)
    block = comparison_block(replace(result, measure=measure, summary=(widest,)))
    assert max(map(len, text_table(block).splitlines())) <= 80


def test_a_method_that_failed_says_so(result):
    failed = replace(result.summary[0], accuracy=None, score=None)
    assert comparison_block(replace(result, summary=(failed,))).rows[0][1].text == "failed"
    silent = replace(result.summary[0], score=None, score_se=None, seconds=None)
    assert [field.text for field in comparison_block(replace(result, summary=(silent,))).rows[0]][
        1::4
    ] == ["-", "-"]
