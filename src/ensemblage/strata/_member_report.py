"""What a fit finds out about its members and strata on rows that were held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensemblage.fusion import Fusion
from ensemblage.messages import expect
from ensemblage.parallel import final_step
from ensemblage.strata._strata_choice import Trial, fused_outputs
from ensemblage.strata._stratum_members import Array, Job, Rows, Training


class Errors(NamedTuple):
    """Share of wrong predictions on each stratum's rows and on all; None where it is not known."""

    strata: list[float | None]
    all_rows: float | None


def count_errors(wrong: Array, memberships: Array) -> Errors:
    """Average errors, 1 or 0 or NaN, over each stratum's rows by membership, and over all."""
    known = np.isfinite(wrong)
    shares, wrong = memberships[known], wrong[known]
    totals = shares.sum(axis=0)
    strata = [
        float(wrong @ own / total) if total > 0 else None
        for own, total in zip(shares.T, totals, strict=True)
    ]
    return Errors(strata, float(wrong.mean()) if len(wrong) > 0 else None)


def held_out_errors(fusion: Fusion, trial: Trial, data: Training) -> Errors:
    """Count errors on rows that neither members nor fusion have seen, where there are such."""
    wrong = np.full(len(data.y), np.nan)
    if trial.outputs is not None and data.folds is not None:
        fused = fused_outputs(
            fusion, trial.outputs, data.y, data.folds, trial.context,
            sample_weight=data.sample_weight,
        )  # fmt: skip
        known = np.isfinite(fused).all(axis=1)
        wrong[known] = fused[known].argmax(axis=1) != data.y[known]
    return count_errors(wrong, final_step(trial.stratifier).memberships_)


def report_members(
    jobs: list[Job], members: list[Any], outputs: Array | None, data: Training, shares: Array | None
) -> list[dict[str, Any]]:
    """Describe each member as ``member_report_`` does.

    ``outputs`` are held-out ones, ``shares`` the members' in the fusion; None where not known.
    """
    report = []
    for i, (job, member) in enumerate(zip(jobs, members, strict=True)):
        report.append(
            {
                "stratum": job.stratum,
                "estimator": type(job.blueprint.estimator).__name__,
                "n_rows": len(job.rows),
                "classes": data.classes[member.classes_].tolist(),
                "constant": len(member.classes_) == 1,
                "weight": None if shares is None else float(shares[i]),
                "score": None if outputs is None else _score(outputs[i], data.y, job.rows),
            }
        )
    return report


def _score(outputs: Array, y: Rows, rows: Rows) -> float | None:
    """Accuracy on those of some rows for which there are outputs."""
    known = rows[np.isfinite(outputs[rows]).all(axis=1)]
    if len(known) == 0:
        return None
    return float((outputs[known].argmax(axis=1) == y[known]).mean())


def expect_members(ensemble: Any, n_columns: int) -> None:
    """Refuse members that do not go together as those of a fit do."""
    members = [*ensemble.estimators_, *ensemble.anchors_]
    expect(len(ensemble.responses_) == len(members), "responses_ has not one entry per member")
    several = len(ensemble.estimators_) % ensemble.n_strata_ == 0
    expect(several and bool(ensemble.estimators_), "estimators_ has not one per stratum")
    strata = final_step(ensemble.stratifier_).memberships_.shape[1]
    expect(strata == ensemble.n_strata_, "stratifier_ has another number of strata")
    # a member of one class only has looked at no column
    looking = [each for each in members if len(each.classes_) > 1]
    taken = {each.n_features_in_ for each in [*looking, ensemble.stratifier_]}
    expect(taken == {n_columns}, "members take another number of columns")
