"""Sources known in training and at prediction: the source-aware pool and other methods.

Usage: python studies/study_known_sources.py FOLDER [--baselines | --sets] NAME [...]

FOLDER has the folder `multi-source` in it; NAME is a table of the study of sources (`ensemblage
reproduce sources`): heart, promise, student, wine. Five splits. With --baselines only the pool and
the methods it is compared with, with --sets the pool alone.
"""

import sys
import time
import warnings

import numpy as np

from ensemblage.papers.sources._study import (
    BASELINE,
    BASELINES,
    METHODS,
    calibration_in_the_large,
    fit_source_aware_pool,
    known_task,
    log_loss,
    source_table,
)

N_SPLITS = 5
POOL = "pool-with-sources"
SOURCE_BLIND = "lightgbm-without-source"
COMPARED = (POOL, *BASELINES, "source-strata", SOURCE_BLIND)


def coverages(model, rows):
    """Coverage of prediction sets at each source, and their mean size."""
    inside = model.predict_set(rows.X, rows.sources, coverage=0.9)
    covered = inside[np.arange(len(inside)), rows.y]
    return [covered[rows.sources == s].mean() for s in np.unique(rows.sources)], inside.sum(
        1
    ).mean()


def one_split(found, seed, methods):
    """Score each method, and the pool's prediction sets: worst and mean coverage, size."""
    task, scores, tuned = known_task(found, seed), {}, {}
    each = [task.test.sources == s for s in range(task.n_sources)]
    for name in methods:
        if name == POOL:
            model = fit_source_aware_pool(task)
            p, tuned[name] = model.predict_proba(task.test.X, sources=task.test.sources), None
            covered, size = coverages(model, task.test)
        else:
            p, tuned[name] = METHODS[name](task)
        y = task.test.y
        wrong = (p.argmax(axis=1) != y).mean()
        calibration = np.mean([calibration_in_the_large(p[own], y[own]) for own in each])
        scores[name] = (log_loss(p, y), wrong, calibration)
    if {*BASELINES} <= {*methods}:
        scores[BASELINE] = scores[min(BASELINES, key=tuned.__getitem__)]
    return scores, (min(covered), np.mean(covered), size)


def main():
    warnings.simplefilter("ignore")
    folder, *names = [each for each in sys.argv[1:] if not each.startswith("--")]
    methods = (
        COMPARED if "--baselines" in sys.argv else (POOL,) if "--sets" in sys.argv else METHODS
    )
    start, means, sets = time.process_time(), {}, {}
    for name in names:
        runs = [one_split(source_table(name, folder), seed, methods) for seed in range(N_SPLITS)]
        means[name] = {k: np.mean([run[0][k] for run in runs], axis=0) for k in runs[0][0]}
        sets[name] = np.mean([run[1] for run in runs], axis=0)
        print(f"{name}: {time.process_time() - start:.0f} s of CPU so far", flush=True)
    for number, title in enumerate(("log loss", "error", "calibration in the large")):
        print(f"\n{title:28}" + "".join(f"{name:>10}" for name in names))
        for method in means[names[0]]:
            print(f"{method:28}" + "".join(f"{means[n][method][number]:10.4f}" for n in names))
    print("\ncoverage of 90 % prediction sets: worst source, mean over sources; size")
    for name in names:
        print(f"{name:28}" + "".join(f"{each:10.3f}" for each in sets[name]))
    print(f"mean coverage of the worst sources: {np.mean([sets[n][0] for n in names]):.3f}")
    if BASELINE in means[names[0]]:
        compare(means, names)


def compare(means, names):
    def ratios(other, number=0):
        return np.array([means[n][POOL][number] / means[n][other][number] for n in names])

    for other in (BASELINE, "source-strata"):
        r = ratios(other)
        print(
            f"log loss against {other}: lower on {(r < 1).sum()} of {len(r)}, median "
            f"{100 * (np.median(r) - 1):+.1f} %, mean {100 * (r.mean() - 1):+.1f} %"
        )
    ours, blind = (np.mean([means[n][each][2] for n in names]) for each in (POOL, SOURCE_BLIND))
    print(f"calibration in the large: {ours:.4f} against {blind:.4f} of {SOURCE_BLIND}")


if __name__ == "__main__":
    main()
