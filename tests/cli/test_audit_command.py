import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["age,site,outcome"]
    for number in range(180):
        age = rng.normal(60, 10)
        site = ("north", "south", "west")[number % 3]
        ill = (age - 60) / 10 + rng.logistic() / 2 > 0
        lines.append(f"{age:.1f},{site},{'ill' if ill else 'well'}")
    path = tmp_path / "sites.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_sentences_a_table_and_a_page(run, table, tmp_path):
    result = run(
        "audit", table, "--target", "outcome", "--source", "site", "-m", "logistic", "--jobs", 1,
        "--report", "audit.html",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "logistic regression, 3 sources" in result.output
    assert "On a new source expect an error of 0." in result.output
    assert "north" in result.output
    assert "Slope and offset: what would calibrate the log odds then." in result.output
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Errors, source by source" in page


def test_json(run, table):
    result = run(
        "audit", table, "--target", "outcome", "--source", "site", "-m", "logistic", "--jobs", 1,
        "--json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert [each["name"] for each in document["audit"]["sources"]] == ["north", "south", "west"]
    assert document["method"] == "logistic"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--source", "place"], "There is no column 'place'"),
        (["--source", "outcome"], "cannot be both target and source"),
        (["--source", "age"], "most have one row"),
        (["--source", "site", "-m", "svm"], "gives no probabilities"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(run, table, options, said):
    import re

    result = run("audit", table, "--target", "outcome", "--jobs", 1, *options)
    assert result.exit_code == 1
    assert re.search(said, " ".join(result.output.split()))
