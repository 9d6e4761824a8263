"""A small experiment with real cells: sums that anyone can check, and ways to go wrong."""

import os
import signal
import sys
import time
from pathlib import Path

from ensemblage.studies import Cell, Experiment, ResultRow, ResultTable


def compute(cell, data_dir):
    x = cell.params["x"]
    time.sleep(cell.params.get("sleep", 0.0))
    more = ACTIONS[cell.params.get("do", "nothing")](cell.params) or {}
    return {"third": x / 3, "square": x * x, "seed": cell.seed, "folder": data_dir, **more}


def _nothing(params):
    return {}


def _nan(params):
    return {"score": float("nan")}


def _where(params):
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        "process": os.getpid(), "threads": [each["num_threads"] for each in threadpool_info()],
    }  # fmt: skip


def _fail(params):
    raise RuntimeError(f"x is {params['x']},\nwhich is bad")


def _fail_once(params):
    mark = Path(params["mark"])
    if not mark.exists():
        mark.touch()
        raise RuntimeError("the first time it fails")


def _die(params):
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _die_once(params):
    mark = Path(params["mark"])
    if not mark.exists():
        mark.touch()
        _die(params)


def _exit(params):
    sys.exit(3)


ACTIONS = {
    "nothing": _nothing, "fail": _fail, "fail-once": _fail_once, "die": _die, "die-once": _die_once,
    "exit": _exit, "nan": _nan, "where": _where,
}  # fmt: skip


def summarise(results):
    rows = [
        ResultRow(
            f"x = {each.cell.params['x']}", "third", 0.3333, each.values.get("third"), None,
            int(not each.error), int(bool(each.error)), each.error,
        )
        for each in results
    ]  # fmt: skip
    total = f"{len(results)} numbers were divided."
    return [ResultTable("thirds", "Thirds", "a third", rows, [total], ["Not in any paper."])]


def experiment(n_cells=6, function=compute, **special):
    """Cells x = 0, 1, ...; ``special`` maps ``x3`` to further parameters of that cell."""
    params = [{"x": x, **special.get(f"x{x}", {})} for x in range(n_cells)]
    cells = [Cell("thirds", each) for each in params]
    return Experiment("thirds", "Thirds", cells, function, summarise, data_dir="somewhere")
