"""Processes that are killed while writing, and fits with too little memory.

Run as ``python -m faults.short_lives <task> <folder>``: one line of JSON for each attempt.
"""

import json
import os
import resource
import signal
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from ensemblage.persistence import load, save, write_atomically
from ensemblage.report import Page, render
from made_estimators import MADE, fit_on, made_rows, outputs_of

X, Y, _ = made_rows()
# Bytes left to the process.
FREE_BYTES = 40_000_000
N_ROWS = 300_000
ESTIMATORS = [
    "HISS", "MixtureStrata", "BootstrapStrata", "InnerBayesNetClassifier",
    "JointSubspaceClassifier", "PartialPoolingClassifier", "ScaledLogisticRegression",
    "StrataEnsembleClassifier", "EvidenceAccumulation", "TableEncoder", "PartialPoolingRegressor",
]  # fmt: skip


def die(*_, **__):
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


class DiesInWrite:
    """A file that kills the process after half of a write."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        die()


def _half_written():
    opened = os.fdopen
    os.fdopen = lambda *args: DiesInWrite(opened(*args))


def _before_flush():
    os.fsync = die


def _before_replace():
    Path.replace = die


def _after_replace():
    replaced = Path.replace

    def replace_and_die(*args):
        replaced(*args)
        die()

    Path.replace = replace_and_die


STEPS = {
    "half written": _half_written, "before flush": _before_flush,
    "before replace": _before_replace, "after replace": _after_replace,
}  # fmt: skip


def _save(path, seed):
    rows, _, numbers = made_rows(seed)
    save(fit_on(MADE["ScaledRidge"], rows, numbers), path)


def _loaded(path):
    return load(path).model.predict(X).tobytes()


def _report(path, seed):
    write_atomically(path, render(Page(f"Page {seed}", "note", ["Rain."], {}, [])))


WRITERS = {"model.skops": (_save, _loaded), "report.html": (_report, Path.read_bytes)}


def kill_writers(folder):
    """Kill a process at each step of overwriting a file, and yield the state of the file."""
    for (name, (write, read)), (step, arrange) in product(WRITERS.items(), STEPS.items()):
        path = folder / name
        write(path, 1)
        new = read(path)
        write(path, 0)
        old, whole = read(path), path.read_bytes()
        ended = _in_a_fork(arrange, write, path)
        yield {
            "file": name, "step": step, "killed": ended == -signal.SIGKILL,
            "old": path.read_bytes() == whole, "new": read(path) == new != old,
            "files": [each.name for each in folder.iterdir() if each.suffix == path.suffix],
        }  # fmt: skip
        for each in folder.iterdir():
            each.unlink()


def _in_a_fork(arrange, write, path):
    """Write in a child process; return its exit code."""
    child = os.fork()
    if child == 0:
        try:
            arrange()
            write(path, 1)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _many_strata(model):
    """Set many strata, whose memberships take much memory."""
    return model.set_params(n_strata=20) if "n_strata" in model.get_params(deep=False) else model


def low_memory(folder, *names):
    """Refit each estimator to many rows with little memory; the old model must be unchanged."""
    rows, classes = np.random.default_rng(0).normal(size=(N_ROWS, 20)), np.arange(N_ROWS) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {name: _many_strata(MADE[name].make()).fit(X, Y) for name in names}
        outputs = {name: outputs_of(model, X) for name, model in fitted.items()}
    path = folder / "model.skops"
    save(fitted["HISS"], path)
    whole = path.read_bytes()
    limit = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + FREE_BYTES
    )
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, model in fitted.items():
        outcome = {"name": name, "ended": "with a fit"}
        try:
            model.fit(rows, classes)
        except (MemoryError, ValueError) as error:
            outcome["ended"] = f"{type(error).__name__}: {error}"
            outcome["same"] = _same(outputs_of(model, X), outputs[name])
        yield outcome
    try:
        save(fitted["HISS"].set_params(init=rows), path)
        ended = "saved"
    except (MemoryError, ValueError) as error:
        ended = f"{type(error).__name__}: {error}"
    intact = path.read_bytes() == whole and _same(outputs_of(load(path).model, X), outputs["HISS"])
    yield {"name": "save", "ended": ended, "same": intact}


def _same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def main(task, folder, *names):
    """Run a task and print one line per outcome."""
    warnings.simplefilter("ignore")
    for outcome in {"kill": kill_writers, "low_memory": low_memory}[task](Path(folder), *names):
        print(json.dumps(outcome), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
