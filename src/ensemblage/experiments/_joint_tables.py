"""The joint feature-subset paper's table and figures: ``python -m`` this module, and a name.

``table2``, ``figure2``, ``gate``, ``selection`` or ``compare``; each prints plain lines.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from ensemblage.datasets import load_dataset, table_encoder
from ensemblage.experiments._joint_real import (
    LITERAL_SETTINGS,
    Verdict,
    compare_with_logistic,
    plain_numbers,
    stand_in,
    table_2_rows,
    table_2_split,
)
from ensemblage.experiments._joint_synthetic import figure_2, gate_gains, selection_precision

# Seeds on which nothing was tuned.
FRESH_RUNS, FRESH_SEEDS = 1000, 100
COMPARED = ("abalone", "segment", "vehicle", "sonar", "waveform", "pima")


def _cell(value, width=9):
    if isinstance(value, str):
        return f"{value:44}"
    return f"{'':>{width}}" if value is None else f"{value:{width}.2f}"


def _line(cells):
    return "".join(_cell(cell) for cell in cells)


def table_2_lines(data_dir, n_splits, names=tuple(LITERAL_SETTINGS)):
    """Table 2 beside ours.

    Parameters
    ----------
    data_dir : str or None
        A folder of CSV files; see :func:`ensemblage.datasets.load_dataset`.
    n_splits : int
        Splits per dataset.
    names : sequence of str
        Which of the datasets.

    Yields
    ------
    str
        A line each.
    """
    yield f"{'accuracy, and gain relative to base (%)':44}" + "".join(
        f"{title:>9}" for title in ("base", "orc T", "orc T,L", "EW T", "EW T,L", "s.e.")
    )
    for name in names:
        made = stand_in() if name == "stand-in" else plain_numbers(load_dataset(name, data_dir))
        splits = [table_2_split(*made, LITERAL_SETTINGS[name], seed) for seed in range(n_splits)]
        yield from map(_line, table_2_rows(name, splits))


def figure_2_lines(runs):
    """Figure 2, in counts.

    Parameters
    ----------
    runs : int
        Fresh datasets per size.

    Yields
    ------
    str
        A line each.
    """
    for n_samples in (20, 100):
        yield f"{n_samples} per class: {figure_2(n_samples, runs, first_seed=FRESH_RUNS)}"


def gate_lines(n_datasets):
    """Show the refined gate on the quarter circle, beside its controls.

    Parameters
    ----------
    n_datasets : int
        Fresh datasets per size.

    Yields
    ------
    str
        A line each.
    """
    for n_samples in (100, 500):
        scores = gate_gains(n_samples, n_datasets)
        for name, values in scores.items():
            gain = values - scores["logistic regression"]
            error = gain.std(ddof=1) / np.sqrt(n_datasets)
            figures = f"{values.mean():7.2f}{gain.mean():+7.2f} ± {error:.2f}"
            yield f"{n_samples} per class, {name:32}{figures}"


def selection_lines(n_seeds):
    """Precision of the selection, beside three others'.

    Parameters
    ----------
    n_seeds : int
        Datasets.

    Yields
    ------
    str
        A line each.
    """
    for name, values in selection_precision(range(FRESH_SEEDS, FRESH_SEEDS + n_seeds)).items():
        yield f"{name:28}{values.mean():6.3f} ± {values.std(ddof=1) / np.sqrt(n_seeds):.3f}"


def compare_lines(data_dir, n_splits, names=COMPARED):
    """``fusion="auto"`` against a tuned logistic regression.

    Parameters
    ----------
    data_dir : str or None
        A folder of CSV files.
    n_splits : int
        Splits per dataset.
    names : sequence of str
        Which datasets.

    Yields
    ------
    str
        A line each.
    """
    yield f"{'':12}" + "".join(f"{field:>10}" for field in Verdict._fields)
    for name in names:
        dataset = load_dataset(name, data_dir)
        X = table_encoder(dataset.kinds).fit_transform(dataset.X)
        verdict = compare_with_logistic(X, np.unique(dataset.y, return_inverse=True)[1], n_splits)
        yield f"{name:12}" + "".join(f"{value:10.3f}" for value in verdict)


def main(arguments=None):
    """Print one of the tables.

    Parameters
    ----------
    arguments : list of str, default=None
        Those of the command line if not given.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["table2", "figure2", "gate", "selection", "compare"])
    parser.add_argument("--data", help="folder of CSV files")
    parser.add_argument("--runs", type=int, help="splits, datasets or seeds")
    parser.add_argument("--datasets", nargs="+", help="which datasets of table2 or compare")
    options = parser.parse_args(arguments)
    some = {} if options.datasets is None else {"names": options.datasets}
    lines = {
        "table2": lambda: table_2_lines(options.data, options.runs or 20, **some),
        "figure2": lambda: figure_2_lines(options.runs or 100),
        "gate": lambda: gate_lines(options.runs or 20),
        "selection": lambda: selection_lines(options.runs or 10),
        "compare": lambda: compare_lines(options.data, options.runs or 10, **some),
    }[options.name]
    for line in lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
