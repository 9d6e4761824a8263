"""Changes of the data that should not matter: each estimator's answers stay as the table says."""

import warnings
from collections import Counter
from fnmatch import fnmatch
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import adjusted_rand_score, r2_score

from ensemblage.consensus import MCLA
from ensemblage.fusion import MemberStackingClassifier
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.sources import AdaptedClassifier, RecalibratedClassifier
from ensemblage.strata import ScaledLogisticRegression
from ensemblage.subspace import StabilitySelector
from made_estimators import (
    CLASSES,
    CLUSTERS,
    COLUMNS,
    COSTLY,
    MADE,
    REGRESSION,
    STRATA,
    Made,
    fit_on,
)

EXACT = "same outputs to 1e-9"
ROUNDED = "same outputs to 1e-6: the change rounds the values"
SOLVED = "same outputs to 1e-3: a solver stops at its tolerance"
SKILL = "held-out skill within 0.1: draws depend on positions, or distances on units"
NOT_PROMISED = "not promised"
TOLERANCES = {EXACT: 1e-9, ROUNDED: 1e-6, SOLVED: 1e-3}

N_ROWS, N_COLUMNS = 80, 3
NAMES = ["a", "b", "c"]
COUNTS = np.random.default_rng(3).integers(1, 4, N_ROWS)
POWERS = (-8, -6, -3, 3, 6, 8)


class Problem(NamedTuple):
    """Training rows with two classes and a numeric target, and new rows with theirs.

    ``rows`` and ``columns`` are positions in the original data, ``labels`` the codes of renamed
    classes, and ``target`` scale and shift of the numeric target.
    """

    X: Any
    y: Any
    numbers: Any
    new: Any
    new_y: Any
    new_numbers: Any
    weights: Any = None
    rows: Any = None
    columns: Any = None
    labels: Any = None
    target: tuple[float, float] = (1.0, 0.0)


def draw(seed, distance):
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % 2
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) * [1.0, 2.0, 0.5]
    X += distance * y[:, None] * [1, 1, 0]
    X = X.astype(np.float32).astype(np.float64)  # exact in float32
    return X, y, X[:, 0] + 2 * y + 0.2 * rng.normal(size=N_ROWS)


def problem_of(made):
    """Return overlapping classes, or clusters that are apart."""
    return _problem(10.0 if made.kind in {CLUSTERS, STRATA} else 1.7)


@cache
def _problem(distance):
    return Problem(*draw(0, distance), *draw(1, distance))


def on_rows(change, problem):
    return problem._replace(X=change(problem.X), new=change(problem.new))


def affine(scale, deviations, one, problem):
    """Scale columns, and shift them by so many of their standard deviations."""
    scales, shifts = np.ones(N_COLUMNS), np.zeros(N_COLUMNS)
    chosen = slice(1) if one else slice(None)
    scales[chosen], shifts[chosen] = scale, deviations * problem.X.std(axis=0)[chosen]
    return on_rows(lambda X: X * scales + shifts, problem)


def take(rows, problem):
    return problem._replace(
        X=problem.X[rows], y=problem.y[rows], numbers=problem.numbers[rows], rows=rows
    )


def reorder_columns(problem):
    order = np.array([2, 0, 1])
    return on_rows(lambda X: X[:, order], problem)._replace(columns=order)


def rename_classes(names, container, problem):
    return problem._replace(
        y=container([names[k] for k in problem.y]), labels={name: k for k, name in enumerate(names)}
    )


def change_target(scale, deviations, problem):
    shift = deviations * float(problem.numbers.std())
    return problem._replace(numbers=problem.numbers * scale + shift, target=(scale, shift))


def with_duplicate_index(problem):
    index = np.arange(N_ROWS) % 7
    renamed = on_rows(partial(pd.DataFrame, index=index, columns=NAMES), problem)
    return renamed._replace(
        y=pd.Series(problem.y, index=index), numbers=pd.Series(problem.numbers, index=index)
    )


def read_only(X):
    frozen = X.copy()
    frozen.flags.writeable = False
    return frozen


CONTAINERS = {
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "float32": lambda X: X.astype(np.float32),
    "object": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "read-only": read_only,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
TEXTS, UNUSED = ["no", "yes"], ["yes", "rare", "no"]
CLASS_NAMES = {
    "int": ([-1, 7], np.array),
    "bool": ([False, True], np.array),
    "str": (TEXTS, np.array),
    "object": (TEXTS, partial(np.array, dtype=object)),
    "Categorical": (TEXTS, lambda y: pd.Series(pd.Categorical(y, categories=UNUSED))),
    "Int64": ([0, 1], partial(pd.Series, dtype="Int64")),
    "boolean": ([False, True], partial(pd.Series, dtype="boolean")),
    "string[pyarrow]": (TEXTS, partial(pd.Series, dtype="string[pyarrow]")),
    "Enum": (TEXTS, partial(pl.Series, dtype=pl.Enum(UNUSED))),
}
RELATIONS = {
    **{f"scale 1e{k}": partial(affine, 10.0**k, 0.0, False) for k in POWERS},
    **{f"scale one 1e{k}": partial(affine, 10.0**k, 0.0, True) for k in POWERS},
    **{f"shift 1e{k}": partial(affine, 1.0, 10.0**k, False) for k in POWERS},
    **{f"shift one 1e{k}": partial(affine, 1.0, 10.0**k, True) for k in POWERS},
    "order of rows": partial(take, np.random.default_rng(5).permutation(N_ROWS)),
    "order of columns": reorder_columns,
    "order of classes": partial(rename_classes, ["b", "a"], np.array),
    **{f"classes {name}": partial(rename_classes, *made) for name, made in CLASS_NAMES.items()},
    **{f"target scale 1e{k}": partial(change_target, 10.0**k, 0.0) for k in (-10, *POWERS)},
    **{f"target shift 1e{k}": partial(change_target, 1.0, 10.0**k) for k in POWERS},
    "copies": partial(take, np.repeat(np.arange(N_ROWS), COUNTS)),
    **{name: partial(on_rows, change) for name, change in CONTAINERS.items()},
    "memory map": None,  # needs a folder
    "duplicate index": with_duplicate_index,
}

# What is not EXACT, by estimator and relation; the first pattern counts.
ROUNDING = {"*shift* 1e6": ROUNDED, "*shift* 1e8": ROUNDED}
DRAWN = {"order of rows": SKILL, "copies": SKILL}
TREE_TIES = {"order of columns": SKILL, "target*": SKILL}
DISTANCES = {"scale one*": SKILL}
# shifted columns are rounded to float32, or put into other bins
FLOAT32 = {
    **DRAWN, "*shift*": SKILL, "order of columns": SKILL, "order of classes": SOLVED,
    "float32": SKILL,
}  # fmt: skip
CONSENSUS = {**DISTANCES, "order of rows": SKILL}
STRATA_ROWS = {**DISTANCES, "*shift*": ROUNDED, "scale*": ROUNDED, "float32": SOLVED}
PROMISES = {
    "AdaptedClassifier": DRAWN,
    "AdaptedRegressor": DRAWN,
    "BayesNetClassifier": DRAWN,
    "InnerBayesNetClassifier": DRAWN,
    "InnerTreeClassifier": DRAWN,
    "InnerTreeRegressor": {**DRAWN, **TREE_TIES},
    "JointSubspaceClassifier": {
        "order of columns": SKILL, "order of classes": ROUNDED, "float32": ROUNDED,
    },
    "JointSubspaceRegressor": {"order of columns": SKILL, "float32": ROUNDED},
    "EnsemblageClassifier": {**DRAWN, "order of columns": SKILL},
    "EnsemblageRegressor": {**DRAWN, **TREE_TIES},
    "MemberStackingClassifier": {**DRAWN, "order of classes": SOLVED},
    "RecalibratedClassifier": DRAWN,
    "StrataEnsembleClassifier": {**DRAWN, **DISTANCES},
    "StrataEnsembleRegressor": {**DRAWN, **DISTANCES},
    "InnerKMeans": DISTANCES,
    **dict.fromkeys(["CSPA", "HBGF", "HGPA", "MCLA", "EvidenceAccumulation"], CONSENSUS),
    "HISS": {**STRATA_ROWS, "order of rows": SKILL},
    "MixtureStrata": {**STRATA_ROWS, "order of rows": SKILL},
    "KMeansStrata": {**STRATA_ROWS, "order of rows": SKILL},
    "BootstrapStrata": {"order of rows": NOT_PROMISED, "copies": NOT_PROMISED},
    "EnsemblageClassifier of forests": FLOAT32,
    "EnsemblageClassifier of boosting": FLOAT32,
    "EnsemblageRegressor of forests": {**FLOAT32, **TREE_TIES},
}  # fmt: skip

# with a member that standardises, as wrappers are as invariant as their members; two clusters
LINEAR = ScaledLogisticRegression()
VARIANTS = [
    MemberStackingClassifier(BaggingClassifier(LINEAR, n_estimators=3)),
    AdaptedClassifier(LINEAR),
    RecalibratedClassifier(LINEAR),
    StabilitySelector(LINEAR, n_pairs=3, max_false=5.0),
    MCLA(2, n_partitions=4),
]
ESTIMATORS = MADE | {
    type(each).__name__: MADE[type(each).__name__]._replace(estimator=each) for each in VARIANTS
}
POOLS = [
    Made("EnsemblageClassifier of forests",
         EnsemblageClassifier(["forest", "extra-trees", "svm"], cv=2), CLASSES),
    Made("EnsemblageClassifier of boosting",
         EnsemblageClassifier(["boosting", "subspaces"], cv=2), CLASSES),
    Made("EnsemblageRegressor of forests",
         EnsemblageRegressor(["forest", "extra-trees", "svr"], cv=2), REGRESSION),
]  # fmt: skip
ESTIMATORS |= {made.name: made for made in POOLS}


def applies(relation, made):
    """Whether the relation changes what the estimator reads."""
    if relation.startswith("target"):
        return made.kind == REGRESSION
    if relation.startswith(("classes", "order of classes")):
        return made.kind in {CLASSES, COLUMNS} and made.name != "TableEncoder"
    return relation != "copies" or made.takes_weights


def promise(made, relation):
    for pattern, level in {**PROMISES.get(made.name, {}), **ROUNDING}.items():
        if fnmatch(relation, pattern):
            return level
    return EXACT


def answers(made, problem):
    """Fit, and return outputs for the original rows, columns, classes and units of the target."""
    weights = {} if problem.weights is None else {"sample_weight": problem.weights}
    y = problem.numbers if made.kind == REGRESSION else problem.y
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "k-means stopped|.*did not converge")
        model = fit_on(made, problem.X, y, **weights)
    if made.kind == REGRESSION:
        scale, shift = problem.target
        return [(np.asarray(model.predict(problem.new)) - shift) / scale]
    if made.kind == CLASSES:
        labels = problem.labels or {0: 0, 1: 1}
        codes = [labels[each] for each in np.asarray(model.predict(problem.new)).tolist()]
        order = np.argsort([labels[each] for each in model.classes_.tolist()])
        return [np.array(codes), np.asarray(model.predict_proba(problem.new))[:, order]]
    if made.kind == COLUMNS:
        columns = slice(None) if problem.columns is None else np.argsort(problem.columns)
        if hasattr(model, "get_support"):
            return [model.get_support()[columns].astype(float)]
        return [np.asarray(model.transform(problem.new), dtype=float)[:, columns]]
    rows = np.arange(N_ROWS) if problem.rows is None else problem.rows
    if made.kind == CLUSTERS:
        labels = np.empty(N_ROWS, dtype=int)
        labels[rows] = model.labels_
        return [as_codes(labels)]
    memberships = np.zeros((N_ROWS, model.memberships_.shape[1]))  # means over copies
    np.add.at(memberships, rows, model.memberships_)
    return [memberships / np.bincount(rows)[:, None]]


def as_codes(labels):
    """Number clusters in the order of their first rows."""
    first: dict[Any, int] = {}
    return np.array([first.setdefault(each, len(first)) for each in np.asarray(labels).tolist()])


def skill(made, found):
    """Accuracy or R squared on new rows; agreement of clusters and strata with the classes."""
    problem = problem_of(made)
    if made.kind == CLASSES:
        return float((found[0] == problem.new_y).mean())
    if made.kind == REGRESSION:
        return float(r2_score(problem.new_numbers, found[0]))
    groups = found[0] if made.kind == CLUSTERS else found[0].argmax(axis=1)
    return float(adjusted_rand_score(problem.y, groups))


@cache
def expected(name, weighted):
    made = ESTIMATORS[name]
    problem = problem_of(made)
    if weighted:
        problem = problem._replace(weights=COUNTS.astype(float))
    found = answers(made, problem)
    if made.kind in {CLASSES, REGRESSION, CLUSTERS}:
        assert skill(made, found) > 0.7, "too little skill to lose"
    return found


CELLS = [
    (name, relation)
    for name, made in ESTIMATORS.items()
    for relation in RELATIONS
    if applies(relation, made)
]


def parameters():
    """Costly estimators have every fifth relation in the fast suite, further pools one."""
    for number, (name, relation) in enumerate(CELLS):
        if promise(ESTIMATORS[name], relation) != NOT_PROMISED:
            slow = (name in COSTLY and number % 5) or (" of " in name and relation != "scale 1e-8")
            yield pytest.param(
                name, relation, id=f"{name}-{relation}", marks=[pytest.mark.slow] if slow else []
            )


@pytest.mark.parametrize(("name", "relation"), list(parameters()))
def test_answers_stay(name, relation, tmp_path):
    made, change = ESTIMATORS[name], RELATIONS[relation]
    problem = problem_of(made)
    if change is None:
        np.save(tmp_path / "rows.npy", problem.X)
        changed = problem._replace(X=np.load(tmp_path / "rows.npy", mmap_mode="r"))
    else:
        changed = change(problem)
    found, wanted = answers(made, changed), expected(name, relation == "copies")
    level = promise(made, relation)
    if level == SKILL:
        assert abs(skill(made, found) - skill(made, wanted)) <= 0.1
        return
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=TOLERANCES[level], atol=TOLERANCES[level])


def test_every_cell_is_promised_or_documented():
    counts = Counter(promise(ESTIMATORS[name], relation) for name, relation in CELLS)
    print(f"\n{len(RELATIONS)} relations, {len(ESTIMATORS)} estimators, {len(CELLS)} cells")  # noqa: T201
    for level, count in counts.most_common():
        print(f"{count:5}  {level}")  # noqa: T201
    assert len(MADE) == 33
    assert set(PROMISES) <= set(ESTIMATORS)
    for name, levels in PROMISES.items():
        doc = " ".join(type(ESTIMATORS[name].estimator).__doc__.split())
        if {SKILL, NOT_PROMISED} & {levels.get("order of rows"), levels.get("copies")}:
            assert "order of rows" in doc, name
        if "order of columns" in levels:
            assert "order of columns" in doc, name
        if "scale one*" in levels:
            assert "Scaling a single column" in doc, name
        if "target*" in levels:
            assert "equally good splits" in doc, name


@pytest.mark.parametrize("far", [1e3, 1e6, 1e8])
def test_distances_to_centres_of_rows_far_from_zero(far):
    made = ESTIMATORS["InnerKMeans"]
    problem = problem_of(made)
    shifted = affine(1.0, far, False, problem)
    near, distant = (
        fit_on(made, each.X, each.y).transform(each.new) for each in (problem, shifted)
    )
    np.testing.assert_allclose(distant, near, atol=1e-6)
