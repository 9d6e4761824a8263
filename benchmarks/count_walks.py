"""Count four walks through the house: files entered, hops between them, returns to known ones.

A reader who follows a call opens each function once, in the order in which it is first called. A
hop is a step from a function in one file to the next in another; a return is a hop to a file that
was open before. Work in worker processes is not counted.

    python benchmarks/count_walks.py            all four
    python benchmarks/count_walks.py strata     one of them
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import ensemblage

HOME = str(Path(ensemblage.__file__).parent)
IS_FUNCTION = 0x1  # CO_OPTIMIZED: bodies of classes and modules are not
NOT_NAMED = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def walk(task: Callable[[], None]) -> list[str]:
    """Run a task; give the file of each function, in the order of first calls."""
    seen: set[CodeType] = set()
    files: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in seen and _counts(frame):
            seen.add(code)
            files.append(code.co_filename)

    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            task()
    finally:
        sys.setprofile(None)
    return files


def _counts(frame: FrameType) -> bool:
    code = frame.f_code
    ours = code.co_filename.startswith(HOME)
    if not ours or not code.co_flags & IS_FUNCTION or code.co_name in NOT_NAMED:
        return False
    while (frame := frame.f_back) is not None:  # what runs while a module is imported
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(HOME):
            return False
    return True


def _command(*words: str) -> None:
    from ensemblage.cli import app

    with contextlib.suppress(SystemExit):
        app(list(words))


def compare() -> None:
    _command("compare", "--folds", "2", "-m", "majority", "-m", "logistic", "--jobs", "2")


def strata() -> None:
    from ensemblage.datasets import make_multi_source
    from ensemblage.strata import StrataEnsembleClassifier

    X, y = make_multi_source(n_sources=3, n_samples=200, random_state=0)
    StrataEnsembleClassifier(random_state=0).fit(X, y).predict_proba(X)


def network() -> None:
    from sklearn.datasets import load_iris

    from ensemblage.inner import InnerBayesNetClassifier

    InnerBayesNetClassifier(random_state=0).fit(*load_iris(return_X_y=True))


def reproduce() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = str(Path(folder, "results.sqlite"))
        data = os.environ.get("ENSEMBLAGE_DATA", "../shared/data")
        _command(
            "reproduce", "hiss-table2", "--quick", "--jobs", "1", "--budget", "1s",
            "--results", results, "--data-dir", data,
        )  # fmt: skip


WALKS = {task.__name__: task for task in (compare, strata, network, reproduce)}


def main() -> None:
    if len(sys.argv) == 1:
        for name in WALKS:  # each in a process of its own: what is imported once is not seen again
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    name = sys.argv[1]
    files = walk(WALKS[name])
    hops = sum(one != other for one, other in pairwise(files))
    n_files = len(set(files))
    print(f"{name}: {n_files} files, {hops} hops, {hops - n_files + 1} returns")


if __name__ == "__main__":
    main()
