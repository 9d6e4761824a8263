"""Look into a fitted strata ensemble: its members, and one row's way through it."""

from __future__ import annotations

import numpy as np

from ensemblage.strata._stratify import strata_memberships


def report_members(jobs, members, held_out, y, classes, fusion) -> list[dict]:
    """Describe each member.

    Parameters
    ----------
    jobs : list of Job
        What each learned from.
    members : list of classifiers
        Fitted on class numbers.
    held_out : ndarray of shape (n_members, n_samples, n_classes) or None
        Outputs on rows that the members had not seen.
    y : ndarray of shape (n_samples,)
        Class numbers.
    classes : ndarray of shape (n_classes,)
        Class labels.
    fusion : Fusion
        Fitted.

    Returns
    -------
    list of dict
        As ``member_report_`` of the ensemble.
    """
    shares = fusion.importance(len(members))
    report = []
    for i, (job, member) in enumerate(zip(jobs, members, strict=True)):
        report.append(
            {
                "stratum": job.stratum,
                "estimator": type(job.estimator).__name__,
                "n_rows": len(job.rows),
                "classes": classes[member.classes_].tolist(),
                "constant": len(member.classes_) == 1,
                "weight": None if shares is None else float(shares[i]),
                "score": None if held_out is None else _score(held_out[i], y, job.rows),
            }
        )
    return report


def _score(outputs, y, rows) -> float | None:
    known = rows[np.isfinite(outputs[rows]).all(axis=1)]
    if len(known) == 0:
        return None
    return float((outputs[known].argmax(axis=1) == y[known]).mean())


def explain_one_row(ensemble, X) -> dict:
    """Follow one row through a fitted ensemble.

    Parameters
    ----------
    ensemble : StrataEnsembleClassifier
        Fitted.
    X : array-like or frame of shape (1, n_features)
        The row, validated.

    Returns
    -------
    dict
        As ``explain_row`` of the ensemble.
    """
    outputs = ensemble._outputs(X)  # noqa: SLF001
    context = ensemble._context(X)  # noqa: SLF001
    scores = ensemble.fusion_.combine(outputs, context)[0]
    weights = ensemble.fusion_.row_weights(outputs, context)
    return {
        "prediction": ensemble.classes_[scores.argmax()],
        "scores": scores,
        "strata": strata_memberships(ensemble.stratifier_, X)[0],
        "members": outputs[:, 0],
        "weights": None if weights is None else weights[0],
    }
