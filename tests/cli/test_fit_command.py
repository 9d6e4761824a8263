"""``ensemblage fit`` on real files."""

import json
import signal

import pytest

from ensemblage.methods import METHODS, Method


def test_without_a_method_it_is_the_pool_scored_by_its_own_folds(run, table_file):
    result = run("fit", table_file, "-t", "class", "-o", "p.skops", "-j", 1, "--folds", 2)
    assert result.exit_code == 0
    assert "pool: accuracy" in result.stdout
    assert "over 2 folds (the most frequent class alone: 0.6500)" in result.stdout
    assert "listens to" in result.stdout
    assert "nothing was fitted again for it." in result.stderr
    again = run("predict", "p.skops", table_file)
    assert again.exit_code == 0
    assert again.stdout.startswith("prediction,probability_no,probability_yes")


def test_fit_says_what_was_learned(run, table_file):
    result = run(
        "fit", table_file, "-t", "class", "-m", "strata", "-o", "s.skops", "-j", 1, "--folds", 2
    )
    assert result.exit_code == 0
    assert "strata ensemble: accuracy" in result.stdout
    assert "over 2 folds (the most frequent class alone: 0.6500)" in result.stdout
    assert "strata of" in result.stdout
    assert "one scaled logistic regression per stratum, fused by gate" in result.stdout
    assert "Saved to s.skops." in result.stderr


def test_fit_json(run, table_file, tmp_path):
    result = run(
        "fit", table_file, "-t", "class", "-m", "majority", "-o", "m.skops", "--json", "-j", 1
    )
    facts = json.loads(result.stdout)
    assert facts["classes"] == {"no": 14, "yes": 26}
    assert (tmp_path / "m.skops").exists()


def test_a_score_on_one_fold_only_has_no_spread(run, monkeypatch):
    fits = iter([True, False, True])

    def moody(seed, n_jobs):
        if not next(fits):
            raise RuntimeError("out of luck")
        return METHODS["majority"].factory(seed, n_jobs)

    monkeypatch.setitem(METHODS, "moody", Method("moody", "moody", "", moody))
    result = run("fit", "iris", "-m", "moody", "-o", "m.skops", "--folds", 2, "-j", 1)
    assert result.exit_code == 0, result.output
    assert "moody: accuracy 0.3333 over 2 folds (the most" in result.stdout
    assert "Saved to m.skops." in result.stderr


def test_a_column_called_like_markup_is_text(run, tmp_path):
    rows = [f"{i},{'[red]x' if i % 2 else '[/red]'}" for i in range(12)]
    (tmp_path / "m.csv").write_text("\n".join(["[bold]a,[/]", *rows]), encoding="utf-8")
    result = run("fit", "m.csv", "-t", "[/]", "-m", "majority", "-o", "m.skops", "-j", 1)
    assert result.exit_code == 0
    assert "2 classes of '[/]'" in result.stdout


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
