"""Sources whose rule runs against the others': found by evidence, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import log_softmax

from ensemblage.evaluation._source_predictions import Codes, Doubles, HeldOut
from ensemblage.strata import CalibrationPrior, as_log_proba, calibrate_site

# offsets so free that a source in which a class is rarer or more frequent is not suspect for it
ANY_RATE = CalibrationPrior(offset=2.5)
SURE = 20.0
"""One false alarm in so many audits, by evidence that is shared among the sources."""


def suspect_sources(
    held: HeldOut,
    labels: Codes,
    sources: Codes,
    predict: Callable[[Sequence[int]], HeldOut],
) -> list[int]:
    """Name the source that runs most surely against the others; look again without it.

    One that was turned round spoils what others are told by it, so that several may look wrong.
    ``predict`` leaves sources out of all training. Of two sources nobody can tell which it is.
    """
    remaining = list(range(int(sources.max()) + 1))
    sure = np.log(SURE * len(remaining))
    found: list[int] = []
    while True:
        log_proba = as_log_proba(held.shares)
        against = {s: turned_evidence(log_proba[sources == s], labels[sources == s])
                   for s in remaining}  # fmt: skip
        accused = [s for s in remaining if against[s] > sure]
        if len(accused) < 1 or len(remaining) <= 2:
            return sorted(found + accused)
        worst = max(accused, key=lambda s: against[s])
        remaining.remove(worst)
        found.append(worst)
        if accused == [worst]:
            return sorted(found)
        held = predict(found)


def turned_evidence(log_proba: Doubles, labels: Codes) -> float:
    """Log evidence that probabilities are wrong way round for these rows, against right way.

    Both ways may be shifted and stretched; of two classes the wrong way is that of the other class.
    """
    ones = np.ones(len(labels))
    right, wrong = (
        calibrate_site(each, labels, ones, ANY_RATE).log_evidence
        for each in (log_proba, log_softmax(-log_proba, axis=1))
    )
    return wrong - right
