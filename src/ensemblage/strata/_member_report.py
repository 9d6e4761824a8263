"""What a fit finds out about its members and strata on rows that were held out."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ensemblage.fusion import DensityGate, DensityPool, LocalCompetence, LogPool
from ensemblage.messages import expect, expect_fitted
from ensemblage.parallel import final_step
from ensemblage.strata._strata_choice import Trial
from ensemblage.strata._strata_rows import Training
from ensemblage.strata._strata_targets import Target
from ensemblage.strata._stratum_members import Array, Job


class Errors(NamedTuple):
    """Error on each stratum's rows and on all; None where it is not known."""

    strata: list[float | None]
    all_rows: float | None


def count_errors(losses: Array, memberships: Array) -> Errors:
    """Average losses, NaN if not known, over each stratum's rows by membership, and over all."""
    known = np.isfinite(losses)
    shares, losses = memberships[known], losses[known]
    totals = shares.sum(axis=0)
    strata = [
        float(losses @ own / total) if total > 0 else None
        for own, total in zip(shares.T, totals, strict=True)
    ]
    return Errors(strata, float(losses.mean()) if len(losses) > 0 else None)


def tell_errors(losses: Array, memberships: Array, target: Target) -> Errors:
    """Give the same as the target's errors are told."""
    strata, all_rows = count_errors(losses, memberships)
    told = [None if each is None else target.as_error(each) for each in [*strata, all_rows]]
    return Errors(told[:-1], told[-1])


def held_out_errors(fused: Array | None, trial: Trial, data: Training) -> Errors:
    """Count errors on rows that neither members nor fusion have seen, where there are such."""
    losses = np.full(len(data.y), np.nan)
    if fused is not None:
        known = np.isfinite(fused).all(axis=1)
        losses[known] = data.target.losses(fused[known], data.y[known])
    return tell_errors(losses, final_step(trial.stratifier).memberships_, data.target)


def report_members(
    jobs: list[Job], members: list[Any], outputs: Array | None, data: Training, shares: Array | None
) -> list[dict[str, Any]]:
    """Describe each member as ``member_report_`` does.

    ``outputs`` are held-out ones, ``shares`` the members' in the fusion; None where not known.
    """
    report = []
    for i, (job, member) in enumerate(zip(jobs, members, strict=True)):
        known, said = job.rows, None
        if outputs is not None:
            known = job.rows[np.isfinite(outputs[i][job.rows]).all(axis=1)]
            said = outputs[i][known]
        told = data.target.report(member, said, data.y[known])
        score = told.pop("score")
        report.append(
            {
                "stratum": job.stratum,
                "estimator": type(job.blueprint.estimator).__name__,
                "n_rows": len(job.rows),
                **told,
                "weight": None if shares is None else float(shares[i]),
                "score": score,
            }
        )
    return report


SIZED: dict[Any, str] = {
    DensityGate: "factors_",
    DensityPool: "weights_",
    LocalCompetence: "right_",
    LogPool: "weights_",
}
"""What of a fusion has an entry for each member."""
FITTED = {
    "responses_": "words (members)",
    "member_sizes_": "integer (strata) 0..",
    "constant_strata_": "integer (*) 0..<strata",
    "n_left_out_": "count",
    "feature_means_": "float (columns)",
    "source_pull_": "number 0..",
    "stratum_errors_": "list (strata)",
    "held_out_error_": "optional number",
    "member_report_": "list (*)",
    "trials_": "list (*)",
}


def _expect_size(size: Any) -> None:
    """Refuse what is no share of the rows, nor a range of shares, where strata have one."""
    for share in size if isinstance(size, tuple | list) else [] if size is None else [size]:
        expect(isinstance(share, Real) and 0 < float(share) <= 1, "stratum_size_ is no share")


def expect_members(ensemble: Any, n_columns: int, target: Target) -> None:
    """Refuse members that do not go together as those of a fit do."""
    members = [*ensemble.estimators_, *ensemble.anchors_]
    sizes = {"strata": ensemble.n_strata_, "members": len(members), "columns": n_columns}
    expect_fitted(ensemble, FITTED, **sizes)
    report = ensemble.member_report_
    expect(all(isinstance(each, dict) for each in report), "member_report_ holds no reports")
    for error in (each for each in ensemble.stratum_errors_ if each is not None):
        expect(isinstance(error, Real) and abs(float(error)) < np.inf, "stratum_errors_ holds none")
    _expect_size(ensemble.stratum_size_)
    sized = SIZED.get(type(ensemble.fusion_))
    of_members = sized is None or len(getattr(ensemble.fusion_, sized)) == len(members)
    expect(of_members, "fusion_ is of other members")
    several = len(ensemble.estimators_) % ensemble.n_strata_ == 0
    expect(several and bool(ensemble.estimators_), "estimators_ has not one per stratum")
    strata = final_step(ensemble.stratifier_).memberships_.shape[1]
    expect(strata == ensemble.n_strata_, "stratifier_ has another number of strata")
    # a member that always says the same has looked at no column
    looking = [each for each in members if not target.is_constant(each)]
    taken = {each.n_features_in_ for each in [*looking, ensemble.stratifier_]}
    expect(taken == {n_columns}, "members take another number of columns")
