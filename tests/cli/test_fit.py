"""``ensemblage fit`` on real files."""

import json
import signal

import numpy as np
import pytest

from ensemblage.datasets import make_multi_source
from ensemblage.studies import METHODS, Method


def test_the_default_is_the_pool_scored_out_of_fold(run, table_file):
    result = run("fit", table_file, "-t", "class", "-o", "p.skops", "-j", 1, "--folds", 2)
    assert result.exit_code == 0
    assert "pool: accuracy" in result.stdout
    assert "(2-fold CV; majority class 0.6500)" in result.stdout
    assert "weights: " in result.stdout
    assert "chosen on the other folds." in result.stderr
    again = run("predict", "p.skops", table_file)
    assert again.exit_code == 0
    assert again.stdout.startswith("prediction,probability_no,probability_yes")


def test_fit_prints_a_summary(run, table_file):
    result = run(
        "fit", table_file, "-t", "class", "-m", "strata", "-o", "s.skops", "-j", 1, "--folds", 2
    )
    assert result.exit_code == 0
    assert "strata ensemble: accuracy" in result.stdout
    assert "(2-fold CV; majority class 0.6500)" in result.stdout
    assert "strata with" in result.stdout
    assert "one scaled logistic regression per stratum, fused by affinity gate" in result.stdout
    assert "Saved to s.skops." in result.stderr


def test_fit_json(run, table_file, tmp_path):
    result = run(
        "fit", table_file, "-t", "class", "-m", "majority", "-o", "m.skops", "--json", "-j", 1
    )
    facts = json.loads(result.stdout)
    assert facts["classes"] == {"no": 14, "yes": 26}
    assert (tmp_path / "m.skops").exists()


def test_a_score_on_one_fold_only_has_no_standard_error(run, monkeypatch):
    fits = iter([True, False, True])

    def moody(seed, n_jobs):
        if not next(fits):
            raise RuntimeError("out of luck")
        return METHODS["majority"].classifier(seed, n_jobs)

    monkeypatch.setitem(METHODS, "moody", Method("moody", "moody", "", moody))
    result = run("fit", "iris", "-m", "moody", "-o", "m.skops", "--folds", 2, "-j", 1)
    assert result.exit_code == 0, result.output
    assert "moody: accuracy 0.3333 (2-fold CV; majority" in result.stdout
    assert "Saved to m.skops." in result.stderr


def test_a_column_called_like_markup_is_text(run, tmp_path):
    rows = [f"{i},{'[red]x' if i % 2 else '[/red]'}" for i in range(12)]
    (tmp_path / "m.csv").write_text("\n".join(["[bold]a,[/]", *rows]), encoding="utf-8")
    result = run("fit", "m.csv", "-t", "[/]", "-m", "majority", "-o", "m.skops", "-j", 1)
    assert result.exit_code == 0
    assert "target '[/]' (2 classes)" in result.stdout


def test_a_full_disk_leaves_no_file(tmp_path, run_apart):
    resource = pytest.importorskip("resource", reason="limits of POSIX")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    result = run_apart(
        "fit", "iris", "-m", "logistic", "-o", "m.skops", "--folds", "2", "--jobs", "1",
        cwd=tmp_path, preexec_fn=limit,
    )  # fmt: skip
    assert result.returncode == 1
    assert "m.skops cannot be written: File too large." in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_budget_is_for_the_pool(run):
    refused = run("fit", "iris", "-m", "logistic", "--budget", "5s", "-o", "m.skops")
    assert refused.exit_code == 1
    assert "--budget is 5 s, but the method 'logistic' has no budget" in refused.stderr


@pytest.fixture
def large_file(tmp_path, monkeypatch):
    """A file that counts as large: numeric and categorical columns, and two classes."""
    pa, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    X, y = make_multi_source(3, n_samples=900, random_state=0)
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    others = {"job": ["cook", "smith", "baker"] * 300, "class": y, "always": np.ones(900)}
    parquet.write_table(pa.table(columns | others), tmp_path / "large.parquet")
    monkeypatch.setattr("ensemblage.datasets._parquet.ALWAYS_FINE", 0)
    return tmp_path / "large.parquet"


def test_a_large_file_is_fitted_in_blocks_and_the_model_works(run, large_file):
    how = ("-t", "class", "-m", "strata", "--drop", "job", "-j", 1)
    result = run("fit", large_file, *how, "-o", "m.skops")
    assert result.exit_code == 0, result.output
    assert "large.parquet: 720 rows, 10 columns, target 'class' (2 classes)" in result.stdout
    assert "(180 held-out rows; majority class " in result.stdout
    assert "Constant columns, left out: 'always'." in result.stderr
    facts = json.loads(run("fit", large_file, *how, "-o", "again.skops", "--json").stdout)
    assert facts["n_rows"] == sum(facts["classes"].values()) == 720
    done = run("predict", "m.skops", large_file, "-o", "out.csv")
    assert "900 predictions written" in done.stderr
    assert "Columns ignored, as in training: 'job', 'always'." in done.stderr
    assert "The target 'class' was not used; accuracy " in done.stderr
    explained = run("explain", "m.skops", large_file, "--row", 3)
    assert explained.exit_code == 0, explained.output
    assert "Row 3: predicted" in explained.stdout
    assert "Description of the strata" in run("explain", "m.skops").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-t", "class", "-m", "strata"), "not numeric: 'job' (string). Drop them with --drop"),
        (
            ("-t", "class", "-m", "strata", "--source", "job"),
            "in blocks, which does not support --source: read",
        ),
        (("-t", "klass", "-m", "strata"), "There is no target column 'klass'. Did you mean 'class"),
        (("-m", "strata"), "Set --target to the column to predict. The columns are: x0"),
        (("-t", "class", "-m", "strata", "--drop", "job", "--scheduler", "x"), "is not an address"),
        (
            ("-t", "class", "-m", "forest"),
            "Use --method strata, which reads numeric columns in blo",
        ),
        (("-t", "class"), "The method 'auto' reads the table into memory: about"),
    ],
)
def test_options_that_need_memory_are_refused_for_a_large_file(
    run, large_file, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.setattr("ensemblage.studies._train.free_memory", lambda: 0)
    result = run("fit", large_file, *arguments, "-o", "m.skops", "-j", 1)
    assert result.exit_code in {1, 2}
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "m.skops").exists()


def test_some_rows_of_a_large_file_are_fitted_in_memory(run, large_file):
    how = ("-m", "strata", "-o", "m.skops", "-j", 1, "--folds", 2)
    result = run("fit", large_file, "-t", "class", *how, "--rows", 200)
    assert result.exit_code == 0, result.output
    assert "large.parquet: 200 rows, 12 columns" in result.stdout
    assert "2-fold CV" in result.stdout
    assert "A random sample of 200 of 900 rows is used (seed 0)." in result.stderr
    assert run("predict", "m.skops", large_file).exit_code == 0


def test_a_large_table_that_fits_is_read_with_a_note(run, large_file):
    how = ("-m", "majority", "-o", "m.skops", "-j", 1)
    result = run("fit", large_file, "-t", "class", *how)
    assert result.exit_code == 0, result.output
    assert "The method 'majority' reads the table into memory" in " ".join(result.stderr.split())
