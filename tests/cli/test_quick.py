"""``ensemblage compare --quick`` on a file as users have them."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

WORDS = {"city": 30, "street": 200, "job": 5, "smoker": 2, "grade": 8, "level": 3, "plan": 12}


def write_table(path, n_rows=10_000):
    """Write 13 columns of numbers and 7 of words; one cell in twenty is missing."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, 13)).round(3)
    words = {name: rng.integers(0, kinds, n_rows) for name, kinds in WORDS.items()}
    score = numbers[:, 0] + 0.8 * numbers[:, 1] * numbers[:, 2] + 0.7 * (words["job"] == 1)
    label = np.where(score + rng.logistic(size=n_rows) > 0.2, "stay", "leave")
    cells = [column.astype(str) for column in numbers.T]
    cells += [np.char.add(name, codes.astype(str)) for name, codes in words.items()]
    table = np.column_stack(cells)
    table[rng.random(table.shape) < 0.05] = ""
    lines = [",".join([*(f"n{j}" for j in range(13)), *WORDS, "outcome"])]
    lines += [",".join([*row, truth]) for row, truth in zip(table, label, strict=True)]
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_rows_take_three_minutes_at_most(tmp_path):
    write_table(tmp_path / "user.csv")
    command = [sys.executable, "-m", "ensemblage.cli", "compare", "user.csv", "-t", "outcome"]
    start = time.monotonic()
    result = subprocess.run(
        [*command, "--quick", "--json", "--jobs", "2"], cwd=tmp_path, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert time.monotonic() - start <= 180
    assert "Comparing 10 methods: " in result.stderr
    facts = json.loads(result.stdout)
    assert facts["verdict"].startswith("Choose ")
    assert "this is " in facts["verdict"]
    assert not any(each["failed_folds"] for each in facts["summary"])


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
def test_the_bar_moves_during_a_long_fit(tmp_path):
    import pty

    parent, child = pty.openpty()
    script = (
        "import time; from ensemblage.cli._console import progress_bar\n"
        "with progress_bar('Fitting') as advance:\n"
        "    advance(0, 2); time.sleep(1.5)"
    )
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, stderr=child
    )
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    assert process.wait() == 0
    frames = {frame for frame in shown.decode().split("\r") if "Fitting" in frame}
    assert len(frames) >= 5
