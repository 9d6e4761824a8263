"""Look into a fitted strata ensemble: its members, and one row's way through it."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ensemblage.fusion import AnchoredGate, Gate
from ensemblage.strata._stratify import strata_affinity, strata_memberships


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
    fusion = ensemble.fusion_
    affinity = strata_affinity(ensemble.stratifier_, X) if fusion.uses_affinity else None
    scores = fusion.combine(outputs, affinity)[0]
    return {
        "prediction": ensemble.classes_[scores.argmax()],
        "scores": scores,
        "strata": strata_memberships(ensemble.stratifier_, X)[0],
        "members": outputs[:, 0],
        "weights": row_weights(fusion, len(outputs), affinity),
    }


def row_weights(fusion, n_members: int, affinity):
    """Share of each member in the answer for one row.

    Parameters
    ----------
    fusion : Fusion
        Fitted.
    n_members : int
        Number of members, anchors included.
    affinity : ndarray of shape (1, n_strata) or None
        Log affinities of the row.

    Returns
    -------
    ndarray of shape (n_members,) or None
        None where the fusion has no such number.
    """
    if isinstance(fusion, Gate):
        return softmax(affinity[0] / fusion.temperature_)
    shares = fusion.importance(n_members)
    if isinstance(fusion, AnchoredGate) and shares is not None:
        n_strata = affinity.shape[1]
        for kind, gate in enumerate(fusion.gates_):
            part = slice(kind * n_strata, (kind + 1) * n_strata)
            shares[part] = shares[part].sum() * softmax(affinity[0] / gate.temperature_)
    return shares
