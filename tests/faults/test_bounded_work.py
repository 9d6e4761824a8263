"""Bounded work: passes of polishing, memory of small files, many column names."""

import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.blocks import MemoryBlocks
from ensemblage.datasets import Dataset, Table, open_table, per_column, read_table
from ensemblage.persistence import SavedModel, save
from ensemblage.strata import HISS, MixtureStrata
from ensemblage.strata._hiss_sizes import MAX_PASSES, MIN_PASSES, _max_passes
from ensemblage.studies import read_rows

posix = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


class Counted(MemoryBlocks):
    """Records the passes over its rows, also those of the copy that a fit makes."""

    def __init__(self, rows):
        super().__init__(rows)
        self.passes = []

    def map(self, kernel, *state):
        self.passes.append(kernel)
        return super().map(kernel, *state)

    def map_with_state(self, kernel, *state):
        self.passes.append(kernel)
        return super().map_with_state(kernel, *state)


def passes_of(rows, **settings):
    source = Counted(rows)
    model = HISS(200, random_state=0, **settings).fit(source)
    return len(source.passes), model


def test_polishing_does_not_dominate_with_hundreds_of_strata():
    """It took 261 passes after the 350 of the iterations, one price at a time."""
    rows = np.random.default_rng(0).normal(size=(2000, 5))
    plain, _ = passes_of(rows, stratum_size=0.01, polish=False)
    polished, model = passes_of(rows, stratum_size=0.01)
    assert model.polished_
    assert polished - plain < plain / 4


def test_polishing_ends_after_passes_that_many_strata_can_afford():
    assert _max_passes(150, 20) == MAX_PASSES
    assert _max_passes(2000, 200) == 500
    assert _max_passes(6000, 5000) == MIN_PASSES
    rows = np.random.default_rng(0).normal(size=(500, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two iterations do not converge
        model = HISS(300, 0.4, max_iter=2, random_state=0).fit(rows)
    np.testing.assert_allclose(model.memberships_.sum(axis=0), 200.0, rtol=1e-9)


@posix
@pytest.mark.parametrize("kind", ["HISS", pytest.param("MixtureStrata", marks=pytest.mark.slow)])
def test_more_strata_than_the_memory_holds_are_refused_at_once(kind):
    script = f"""
        import resource
        import numpy as np
        from ensemblage.strata import {kind}
        X = np.zeros((100_000, 2))
        X[:, 0] = np.arange(100_000)
        resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))
        try:
            {kind}(5000).fit(X)
        except MemoryError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert run.stdout.startswith(
        "n_strata=5000 strata of n_samples=100000 rows need at least 8 GB, more than the 4 GB "
        "available. Use fewer strata"
    )


@pytest.mark.parametrize("kind", ["spherical", "diag", "tied", "full"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e7])
def test_objective_of_float32_far_from_zero(kind, offset):
    """At 1e6 it was off by 9e-5: the centre of the strata was none that float32 has."""
    rows = np.random.default_rng(0).normal(size=(500, 3)) + (np.arange(500) % 3)[:, None] * 3
    rows = (rows + offset).astype(np.float32)
    for model in (HISS(3, 0.4, covariance_type=kind), MixtureStrata(3, covariance_type=kind)):
        model.set_params(random_state=0)
        single, path = model.fit(rows).log_affinity(rows), model.objective_path_
        objective = getattr(model, "objective_", path[-1])
        double = model.fit(rows.astype(np.float64)).log_affinity(rows.astype(np.float64))
        expected = getattr(model, "objective_", model.objective_path_[-1])
        np.testing.assert_allclose(objective, expected, rtol=1e-6)
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-2)


def wide_file(folder, n_columns):
    """Write two rows of many columns; return the path and the names."""
    names = [f"c{j}" for j in range(n_columns)]
    row = ",".join(["1"] * n_columns)
    path = folder / f"{n_columns}.csv"
    path.write_text(f"{','.join(names)},class\n{row},a\n{row},b\n", encoding="utf-8")
    return path, names


def ignore_columns(path, names):
    saved = SavedModel(None, (names[0],), ("numeric",), ignored=(*names[1:], "class"))
    return len(read_rows(saved, path).notes)


def drop_columns(_, names):
    columns = [np.array([0.0, 1.0])] * len(names)
    table = Table((*names, "class"), (*columns, np.array(["a", "b"], object)))
    return len(Dataset.from_table(table, target="class", drop=names[1:]).feature_names)


def declare_kinds(_, names):
    return len(per_column(dict.fromkeys(names, "numeric"), names, "kinds"))


@pytest.mark.parametrize("use", [ignore_columns, drop_columns, declare_kinds])
def test_many_columns_are_fast(use, tmp_path):
    """A quadratic check of the names would take minutes."""
    path, names = wide_file(tmp_path, 100_000)
    start = time.process_time()
    assert use(path, names)
    assert time.process_time() - start < 20


@posix
def test_small_parquet_file_with_many_rows_is_refused(tmp_path):
    """It is refused by its metadata, before anything is read."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    part = pa.table({"a": np.zeros(1_000_000, np.int8)})
    with parquet.ParquetWriter(path, part.schema) as writer:
        for _ in range(50):
            writer.write_table(part)
    assert path.stat().st_size < 168_000
    script = f"""
        import json, resource
        import pyarrow.parquet
        from ensemblage.datasets import read_table
        def memory():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = memory()
        try:
            read_table({str(path)!r})
        except ValueError as error:
            print(json.dumps([str(error), memory() - before]))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    message, grown = json.loads(run.stdout)
    assert (
        "has 50000000 rows and 1 columns, too many for the memory or for a file of its" in message
    )
    assert grown < 500e6


@pytest.mark.parametrize("separator", [",", ";", "|", "\t", " "])
@pytest.mark.parametrize("block_rows", [None, 10])
def test_too_many_columns_of_text_are_refused_by_the_first_lines(tmp_path, separator, block_rows):
    path = tmp_path / "wide.txt"
    path.write_text("a title\n" + f"{separator.join('x' * 250_001)}\n" * 3, encoding="utf-8")
    with pytest.raises(ValueError, match=r"wide\.txt has 250,001 columns"):
        open_table(path, block_rows=block_rows)


def test_a_row_of_long_texts_is_no_table_of_many_columns(tmp_path):
    path = tmp_path / "texts.csv"
    texts = ",".join(["word " * 26_000] * 10)
    path.write_text(f"{','.join('abcdefghij')}\n{texts}\n{',' * 9}1\n", encoding="utf-8")
    assert read_table(path).n_rows == 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.slow  # a file of 16 MB
def test_predictions_of_many_rows_take_little_memory(tmp_path):
    """Such a file is read in blocks; standard input is read whole, with the same predictions."""
    rng = np.random.default_rng(0)
    lines = [f"{a:.2f},{b:.2f}" for a, b in rng.normal(size=(1_500_000, 2))]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b", *lines, ""]), encoding="utf-8")
    X = rng.normal(size=(100, 2))
    model = LogisticRegression().fit(X, np.where(X.sum(axis=1) > 0, "p", "n"))
    save(model, tmp_path / "m.skops", columns=["a", "b"], kinds=["numeric", "numeric"])
    script = (
        "import atexit, re; from pathlib import Path; from ensemblage.cli import main\n"
        # not of getrusage, which begins with the memory of the process that started this one
        "peak = lambda: re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "atexit.register(lambda: print(1024 * int(peak())))\n"
        "main()"
    )

    def predict(rows, output):
        with (tmp_path / "rows.csv").open("rb") as stdin:
            run = subprocess.run(
                [sys.executable, "-c", script, "predict", "m.skops", rows, "-o", output],
                cwd=tmp_path, stdin=stdin, capture_output=True, text=True, check=True,
            )  # fmt: skip
        return int(run.stdout), (tmp_path / output).read_bytes()

    grown, found = predict("rows.csv", "blocks.csv")
    assert grown < 450e6
    whole, wanted = predict("-", "whole.csv")
    assert whole > 600e6  # so that the bound above says something
    assert found == wanted
