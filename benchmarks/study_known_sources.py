"""Sources that are known, in training and at prediction: the pool beside what else one could do.

Usage: python benchmarks/study_known_sources.py FOLDER [NAME ...]

FOLDER holds CSV files with the columns `source` and `class`, all others numbers. Five splits, 30 %
of the rows to learn from, sources and classes in their shares.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from ensemblage.datasets import read_table
from ensemblage.papers.sources._known_source_methods import (
    CAREFUL,
    METHODS,
    KnownAnswer,
    KnownRows,
    KnownTask,
    answer_known,
    fit_pool_with_sources,
    log_loss,
)

N_SPLITS, SHARE = 5, 0.3
POOL, BLIND, CAREFUL_PICK = "pool-with-sources", "lightgbm-without-source", "careful pick"


def read_task(path, seed):
    table = read_table(path)
    sources, y = (
        np.unique([str(each) for each in table.column(name)], return_inverse=True)[1]
        for name in ("source", "class")
    )
    names = [name for name in table.names if name not in ("source", "class")]
    X = np.column_stack([np.asarray(table.column(name), dtype=float) for name in names])
    pairs = y * (sources.max() + 1) + sources
    sides = train_test_split(np.arange(len(y)), train_size=SHARE, random_state=seed, stratify=pairs)
    return KnownTask(*(KnownRows(X[side], y[side], sources[side]) for side in sides), seed)


def calibration_excess(probabilities, rows):
    """How far the share of the last class is off per source, beyond what chance makes of it."""
    gaps = []
    for source in np.unique(rows.sources):
        own = rows.sources == source
        said, true = probabilities[own, -1], rows.y[own] == probabilities.shape[1] - 1
        chance = np.sqrt(2 / np.pi * (said * (1 - said)).sum()) / own.sum()
        gaps.append(abs(said.mean() - true.mean()) - chance)
    return max(0.0, float(np.mean(gaps)))


def coverages(model, rows):
    """Share of each source's rows whose class is in its set, and the mean size of sets."""
    inside = model.predict_set(rows.X, rows.sources, coverage=0.9)
    covered = inside[np.arange(len(inside)), rows.y]
    return [covered[rows.sources == s].mean() for s in np.unique(rows.sources)], inside.sum(
        1
    ).mean()


def one_split(path, seed):
    """Score each method, and the pool's sets: worst and mean coverage, size."""
    task, scores, tuned = read_task(path, seed), {}, {}
    for name in METHODS:
        if name == POOL:
            model = fit_pool_with_sources(task)
            said = model.predict_proba(task.test.X, sources=task.test.sources)
            answer, (covered, size) = KnownAnswer(said), coverages(model, task.test)
        else:
            answer = answer_known(name, task)
        p, y = answer.probabilities, task.test.y
        wrong = (p.argmax(axis=1) != y).mean()
        scores[name] = (log_loss(p, y), wrong, calibration_excess(p, task.test))
        tuned[name] = answer.cv_loss
    scores[CAREFUL_PICK] = scores[min(CAREFUL, key=tuned.__getitem__)]
    return scores, (min(covered), np.mean(covered), size)


def main():
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or sorted(path.stem for path in folder.glob("*.csv"))
    start, means, sets = time.process_time(), {}, {}
    for name in names:
        runs = [one_split(folder / f"{name}.csv", seed) for seed in range(N_SPLITS)]
        means[name] = {k: np.mean([run[0][k] for run in runs], axis=0) for k in runs[0][0]}
        sets[name] = np.mean([run[1] for run in runs], axis=0)
        print(f"{name}: {time.process_time() - start:.0f} s of CPU so far", flush=True)
    for number, title in enumerate(("log loss", "error", "calibration excess per source")):
        print(f"\n{title:28}" + "".join(f"{name:>10}" for name in names))
        for method in means[names[0]]:
            print(f"{method:28}" + "".join(f"{means[n][method][number]:10.4f}" for n in names))
    print("\nsets at 90 %: worst source, mean source, size")
    for name in names:
        print(f"{name:28}" + "".join(f"{each:10.3f}" for each in sets[name]))
    print(f"mean of the worst sources: {np.mean([sets[n][0] for n in names]):.3f}")
    judge(means, names)


def judge(means, names):
    def ratios(other, number=0):
        return np.array([means[n][POOL][number] / means[n][other][number] for n in names])

    for other in (CAREFUL_PICK, "source-strata"):
        r = ratios(other)
        print(
            f"log loss against {other}: below on {(r < 1).sum()} of {len(r)}, median "
            f"{100 * (np.median(r) - 1):+.1f} %, mean {100 * (r.mean() - 1):+.1f} %"
        )
    ours, blind = (np.mean([means[n][each][2] for n in names]) for each in (POOL, BLIND))
    print(f"calibration excess: {ours:.4f} against {blind:.4f} of {BLIND}")


if __name__ == "__main__":
    main()
