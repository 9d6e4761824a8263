"""Sources that are known, in training and at prediction: the pool beside what else one could do.

Usage: python studies/study_known_sources.py FOLDER [--bars | --sets] NAME [...]

FOLDER has the folder `multi-source` in it; NAME is a table of the study of sources (`ensemblage
reproduce sources`): heart, promise, student, wine. Five splits. With --bars only those methods
that the pool is measured by, with --sets the pool alone.
"""

import sys
import time
import warnings

import numpy as np

from ensemblage.papers.sources._study import (
    CAREFUL,
    METHODS,
    excess_gap,
    fit_pool_with_sources,
    known_task,
    log_loss,
    source_set,
)

N_SPLITS = 5
POOL, BLIND, CAREFUL_PICK = "pool-with-sources", "lightgbm-without-source", "careful pick"
BARS = (POOL, *CAREFUL, "source-strata", BLIND)


def coverages(model, rows):
    """Share of each source's rows whose class is in its set, and the mean size of sets."""
    inside = model.predict_set(rows.X, rows.sources, coverage=0.9)
    covered = inside[np.arange(len(inside)), rows.y]
    return [covered[rows.sources == s].mean() for s in np.unique(rows.sources)], inside.sum(
        1
    ).mean()


def one_split(found, seed, methods):
    """Score each method, and the pool's sets: worst and mean coverage, size."""
    task, scores, tuned = known_task(found, seed), {}, {}
    each = [task.test.sources == s for s in range(task.n_sources)]
    for name in methods:
        if name == POOL:
            model = fit_pool_with_sources(task)
            p, tuned[name] = model.predict_proba(task.test.X, sources=task.test.sources), None
            covered, size = coverages(model, task.test)
        else:
            p, tuned[name] = METHODS[name](task)
        y = task.test.y
        wrong = (p.argmax(axis=1) != y).mean()
        gap = np.mean([excess_gap(p[own], y[own]) for own in each])
        scores[name] = (log_loss(p, y), wrong, gap)
    if {*CAREFUL} <= {*methods}:
        scores[CAREFUL_PICK] = scores[min(CAREFUL, key=tuned.__getitem__)]
    return scores, (min(covered), np.mean(covered), size)


def main():
    warnings.simplefilter("ignore")
    folder, *names = [each for each in sys.argv[1:] if not each.startswith("--")]
    methods = BARS if "--bars" in sys.argv else (POOL,) if "--sets" in sys.argv else METHODS
    start, means, sets = time.process_time(), {}, {}
    for name in names:
        runs = [one_split(source_set(name, folder), seed, methods) for seed in range(N_SPLITS)]
        means[name] = {k: np.mean([run[0][k] for run in runs], axis=0) for k in runs[0][0]}
        sets[name] = np.mean([run[1] for run in runs], axis=0)
        print(f"{name}: {time.process_time() - start:.0f} s of CPU so far", flush=True)
    for number, title in enumerate(("log loss", "error", "gap of the rate, per source")):
        print(f"\n{title:28}" + "".join(f"{name:>10}" for name in names))
        for method in means[names[0]]:
            print(f"{method:28}" + "".join(f"{means[n][method][number]:10.4f}" for n in names))
    print("\nsets at 90 %: worst source, mean source, size")
    for name in names:
        print(f"{name:28}" + "".join(f"{each:10.3f}" for each in sets[name]))
    print(f"mean of the worst sources: {np.mean([sets[n][0] for n in names]):.3f}")
    if CAREFUL_PICK in means[names[0]]:
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
    print(f"gap of the rate: {ours:.4f} against {blind:.4f} of {BLIND}")


if __name__ == "__main__":
    main()
