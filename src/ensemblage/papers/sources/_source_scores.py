"""What one cell of the study of sources tells: of known sources, or of one that is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ensemblage.evaluation import HeldOut, held_out, new_bound, ordinary_folds, source_folds
from ensemblage.methods import make_model
from ensemblage.papers.sources._known_source_methods import KnownTask, answer_known, log_loss
from ensemblage.papers.sources._source_sets import SourceSet
from ensemblage.strata import as_log_proba, calibrate_site
from ensemblage.tables import TableEncoder

Doubles = NDArray[np.float64]
Codes = NDArray[np.intp]

LABELLED = (20, 50, 100)
DRAWS = 10
LEAST_TESTED = 20
COVERAGE = 0.9
MOST_LEFT_OUT = 10


def known_scores(method: str, task: KnownTask) -> dict[str, float]:
    """Score a method where all sources are known."""
    answer = answer_known(method, task)
    said, y, sources = answer.probabilities, task.test.y, task.test.sources
    wrong = said.argmax(axis=1) != y
    each = [sources == s for s in range(task.n_sources)]
    scores = {
        "log_loss": log_loss(said, y),
        "error": float(wrong.mean()),
        "worst": max(float(wrong[own].mean()) for own in each),
        "gap": float(np.mean([excess_gap(said[own], y[own]) for own in each])),
    }
    return scores if answer.cv_loss is None else scores | {"cv_loss": answer.cv_loss}


def excess_gap(said: Doubles, y: Codes) -> float:
    """How far the rate of the last class is from what was said, beyond what chance makes of it."""
    rate = said[:, -1]
    gap = rate.mean() - (y == said.shape[1] - 1).mean()
    chance = (rate * (1 - rate)).sum() / len(rate) ** 2
    return float(np.sqrt(max(0.0, gap**2 - chance)))


def new_scores(method: str, found: SourceSet, source: int, seed: int) -> Mapping[str, Any]:
    """Promise of an audit without a source, and what its rows then say."""
    rest, own = np.flatnonzero(found.sources != source), np.flatnonzero(found.sources == source)
    model = make_model(method, found.data.columns, seed)
    X, y = found.data.X[rest], found.labels[rest].astype(np.int64)
    sources = np.unique(found.sources[rest], return_inverse=True)[1].astype(np.int64)
    inside = held_out(model, X, y, ordinary_folds(y, sources, 5, seed))
    said = {"ordinary": _source_errors(inside, y, sources).mean()}
    thresholds = {"ordinary": _threshold(inside, y)}
    if sources.max() > 0:
        outside = held_out(model, X, y, source_folds(sources, MOST_LEFT_OUT))
        errors = _source_errors(outside, y, sources)
        said |= {"left_out": errors.mean(), "bound": min(1.0, new_bound(errors, 0.9))}
        thresholds["left_out"] = _threshold(outside, y)
    shares = HeldOut(model.fit(X, y).predict_proba(found.data.X[own]))
    labels = found.labels[own].astype(np.int64)
    said["truth"] = shares.errors(labels).mean()
    if "bound" in said:
        said["held"] = float(said["truth"] <= said["bound"])
    true = shares.shares[np.arange(len(labels)), labels]
    said |= {f"covered_{name}": (true >= least).mean() for name, least in thresholds.items()}
    said["novelty"] = _novelty(found, rest, own)
    adapted = _adapted(as_log_proba(shares.shares), labels, seed)
    return {name: float(value) for name, value in (said | adapted).items()}


def _source_errors(held: HeldOut, y: NDArray[np.int64], sources: NDArray[np.int64]) -> Doubles:
    wrong = np.bincount(sources, held.errors(y).astype(float))
    return np.asarray(wrong / np.bincount(sources))


def _threshold(held: HeldOut, y: NDArray[np.int64]) -> float:
    """Probability that the true class of nine rows in ten has."""
    true = held.shares[np.arange(len(y)), y]
    return float(np.quantile(true, 1 - COVERAGE * (1 + 1 / len(y)), method="lower"))


def _adapted(log_proba: Doubles, y: NDArray[np.int64], seed: int) -> dict[str, float]:
    """Log loss of a site's other rows before and after some were used to recalibrate."""
    rng = np.random.default_rng(seed)
    found = {}
    for n_rows in LABELLED:
        if len(y) < n_rows + LEAST_TESTED:
            continue
        before, after = [], []
        for _ in range(DRAWS):
            order = rng.permutation(len(y))
            few, others = order[:n_rows], order[n_rows:]
            change = calibrate_site(log_proba[few], y[few], np.ones(n_rows)).cautious()
            before.append(-log_proba[others, y[others]].mean())
            after.append(-change.log_proba(log_proba[others])[np.arange(len(others)), y[others]])
        found[f"before_{n_rows}"] = float(np.mean(before))
        found[f"after_{n_rows}"] = float(np.mean([each.mean() for each in after]))
    return found


def _novelty(found: SourceSet, rest: Codes, own: Codes) -> float:
    """Area under the ROC curve of a row's distance (Mahalanobis) to the other sources' rows."""
    encoder = TableEncoder(kinds=list(found.data.kinds)).fit(found.data.X[rest])
    Z, new = (np.asarray(encoder.transform(found.data.X[rows]), float) for rows in (rest, own))
    centre, metric = Z.mean(axis=0), np.linalg.pinv(np.cov(Z.T))
    gaps = np.vstack([Z, new]) - centre
    ranks = rankdata(np.einsum("ij,jk,ik->i", gaps, metric, gaps))
    n_old, n_new = len(rest), len(own)
    return float((ranks[n_old:].sum() - n_new * (n_new + 1) / 2) / (n_old * n_new))
