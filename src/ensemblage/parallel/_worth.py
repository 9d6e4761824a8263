"""Whether to start worker processes at all: each of them imports everything anew."""

from __future__ import annotations

from joblib import cpu_count

# What a worker needs before it begins: scikit-learn imported, compiled kernels loaded.
START_SECONDS = 5.0


def n_workers(n_jobs: int | None) -> int:
    """Count the processes that joblib's number stands for: None is 1, -1 is one per core."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 or more, or -1 for one per core.")
    jobs = n_jobs or 1
    return jobs if jobs > 0 else max(1, cpu_count() + 1 + jobs)


def worth_workers(seconds: float, n_jobs: int | None) -> bool:
    """Whether work of so many seconds in one process ends sooner in several, started for it."""
    return START_SECONDS + seconds / n_workers(n_jobs) < seconds
