"""Fewer rows per fit, for a quick look at many."""

from __future__ import annotations

import numpy as np

from ensemblage.methods._compare_cells import Task
from ensemblage.methods._registry import get_method

STEEP_ROWS = 2_000
MOST_ROWS = 20_000
TEST_ROWS = 10_000


def fewer_rows(tasks: list[Task], y: np.ndarray) -> tuple[list[Task], list[str]]:
    """Leave rows out of the training and test sets where there are many.

    Parameters
    ----------
    tasks : list of Task
        Methods on folds.
    y : ndarray of shape (n_rows,)
        The classes, whose shares are kept.

    Returns
    -------
    tasks : list of Task
        The same with fewer rows; equal folds stay equal for methods of equal limits.
    notes : list of str
        What was left out.
    """
    kept = []
    for task in tasks:
        limit = STEEP_ROWS if get_method(task.method).steep else MOST_ROWS
        train = draw_by_class(task.train, y, limit, task.seed)
        test = draw_by_class(task.test, y, TEST_ROWS, task.seed)
        kept.append(task._replace(train=train, test=test))
    return kept, _notes(tasks)


def draw_by_class(rows: np.ndarray, y: np.ndarray, limit: int, seed: int) -> np.ndarray:
    """Draw rows such that the classes keep their shares, and each class at least one row.

    Parameters
    ----------
    rows : ndarray of int
        Rows to draw from.
    y : ndarray of shape (n_rows,)
        Classes of all rows.
    limit : int
        How many to draw; all are kept if there are no more.
    seed : int
        For the draw.

    Returns
    -------
    ndarray of int
        Rows, in order.
    """
    if len(rows) <= limit:
        return rows
    mixed = np.random.default_rng(seed).permutation(rows)
    place = np.empty(len(mixed))
    for label in np.unique(y[mixed]):
        here = np.flatnonzero(y[mixed] == label)
        # the first row of each class comes first of all, the last ones last
        place[here] = np.arange(len(here)) / len(here)
    return np.sort(mixed[np.argsort(place, kind="stable")[:limit]])


def _notes(tasks: list[Task]) -> list[str]:
    largest = max(len(task.train) for task in tasks)
    methods = [get_method(name) for name in dict.fromkeys(task.method for task in tasks)]
    notes = []
    slow = [method.label for method in methods if method.steep]
    if slow and largest > STEEP_ROWS:
        notes.append(
            f"To be quick, {', '.join(slow)} learned from {STEEP_ROWS} of {largest} training rows, "
            "as their time grows faster than the rows; they may be better on all, so compare "
            "without --quick before ruling them out."
        )
    if len(slow) < len(methods) and largest > MOST_ROWS:
        notes.append(
            f"To be quick, every method learned from at most {MOST_ROWS} of {largest} training "
            f"rows; without --quick all are used."
        )
    if max(len(task.test) for task in tasks) > TEST_ROWS:
        notes.append(f"To be quick, each fold was tested on {TEST_ROWS} rows.")
    return notes
