"""``ensemblage explain`` as a user runs it, on files."""

import json
import subprocess
import sys
from functools import partial

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ensemblage.datasets import TableEncoder, make_multi_source, open_dataset
from ensemblage.persistence import load, save
from ensemblage.strata import HISS, StrataEnsembleClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of three sources with mixed columns and missing values, and a model."""
    folder = tmp_path_factory.mktemp("explain")
    X, y, sources = make_multi_source(3, 150, 3, random_state=0, return_sources=True)
    lines = ["a,b,c,kind,class"]
    for i, (row, source, label) in enumerate(zip(X, sources, y, strict=True)):
        cells = [f"{value:.4f}" for value in row]
        cells[0] = "" if i % 29 == 0 else cells[0]
        lines.append(",".join([*cells, "uvw"[source], "ny"[label]]))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    dataset = open_dataset(str(folder / "rows.csv"), "class")
    few = StrataEnsembleClassifier(HISS(5, 0.3), random_state=0)
    forest = RandomForestClassifier(5, random_state=0)
    methods = {"strata": few, "logistic": LogisticRegression(), "forest": forest}
    for name, estimator in methods.items():
        model = make_pipeline(TableEncoder(kinds=list(dataset.kinds)), estimator).fit(
            dataset.X, dataset.y
        )
        save(
            model, folder / f"{name}.skops",
            columns=dataset.feature_names, kinds=dataset.kinds, target="class",
        )  # fmt: skip
    return folder


@pytest.fixture
def explain(run, folder, monkeypatch):
    """Run ``ensemblage explain`` in that folder."""
    monkeypatch.chdir(folder)
    return partial(run, "explain")


def test_members_as_a_table_and_as_json(run_apart, explain, folder):
    shown = run_apart("explain", "strata.skops", cwd=folder)
    assert shown.returncode == 0
    facts = json.loads(explain("strata.skops", "--json").stdout)
    assert f"{facts['n_strata']} strata found by HISS" in shown.stdout
    first = facts["members"][0]
    line = next(line.split() for line in shown.stdout.splitlines() if line.split()[:1] == ["0"])
    assert first["estimator"] == "ScaledLogisticRegression"
    assert "members: scaled logistic regression; fusion: affinity gate" in shown.stdout
    assert line[1] == str(first["n_rows"])
    assert line[-1] == f"{first['dominant_in']:.1%}"
    assert "share of the training rows" in shown.stdout


def test_one_row(explain, folder):
    chosen = ["strata.skops", "rows.csv", "--row", "7"]
    story = json.loads(explain(*chosen, "--json").stdout)
    shown = explain(*chosen).stdout
    assert f"Row 7: predicted {story['prediction']}" in shown
    assert "fused" in shown
    rows = open_dataset(str(folder / "rows.csv"), "class").X[7:8]
    model = load(folder / "strata.skops").model
    assert story["prediction"] == model.predict(rows)[0]
    assert story["scores"] == pytest.approx(model.predict_proba(rows)[0].tolist())


def test_any_model_and_its_rows(explain):
    shown = explain("logistic.skops").stdout
    assert all(name in shown for name in ("a missing", "b", "c", "kind = u", "kind = w"))
    story = json.loads(explain("logistic.skops", "rows.csv", "--row", 3, "--json").stdout)
    assert {each["column"] for each in story["decision"]["contributions"]} == set("abc") | {"kind"}
    assert "decrease of accuracy" in explain("forest.skops", "rows.csv").stdout


def test_the_map_is_written(explain, folder):
    done = explain("strata.skops", "rows.csv", "-o", "map.png")
    assert done.exit_code == 0
    assert "Figure written to map.png." in done.stderr
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "share of the given rows" in done.stdout


def test_rows_without_their_classes_from_standard_input(explain, folder):
    lines = (folder / "rows.csv").read_text(encoding="utf-8").splitlines()
    unlabelled = "\n".join(line.rsplit(",", 1)[0] for line in lines)
    done = explain("strata.skops", "-", "-o", "map.svg", stdin=unlabelled)
    assert done.exit_code == 0
    assert "stratum 0" in (folder / "map.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["forest.skops"], 1, "permutation importance: give rows with their target"),
        (
            ["forest.skops", "rows.csv", "--row", "1"],
            1,
            "Leave out --row for permutation",
        ),
        (["logistic.skops", "-o", "map.png"], 1, "Coefficients have no drawing of their own"),
        (["logistic.skops", "--row", "1"], 2, "--row needs DATA"),
        (["strata.skops", "--row", "1"], 2, "--row needs DATA"),
        (["strata.skops", "-o", "map.png"], 2, "--output needs DATA"),
        (["strata.skops", "rows.csv", "-o", "map.gif"], 2, "map.gif must end in .png, .svg or"),
        (["strata.skops", "rows.csv", "--row", "150"], 1, "There is no row 150"),
        (["strata.skops", "none.csv"], 1, "none.csv"),
        (["none.skops"], 1, "There is no model file none.skops."),
    ],
)
def test_wrong_use_is_one_sentence(explain, arguments, code, message):
    done = explain(*arguments)
    assert done.exit_code == code
    assert message in done.stderr


def test_without_matplotlib_the_extra_is_named(folder):
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from ensemblage.cli import main\n"
        "sys.argv = ['ensemblage', 'explain', 'strata.skops', 'rows.csv', '-o', 'none.png']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'pip install "ensemblage[plot]"' in done.stderr
    assert not (folder / "none.png").exists()
