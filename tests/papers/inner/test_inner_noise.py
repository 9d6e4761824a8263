import numpy as np
import pytest

from ensemblage.evaluation import nmi_score
from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_clusters import (
    Views,
    add_noise,
    draw_start,
    inner_labels,
    plain_labels,
    standardise,
)
from ensemblage.runs import CellResult
from papers.inner.sets import all_sets


def test_noise_is_reported_raw_and_standardised():
    experiment = paper_experiment("inner-noise", scale="quick", datasets=["iris"])
    noisy = [cell for cell in experiment.cells if cell.params["noise"] == 0.4]
    wanted = [cell for cell in noisy if cell.params["method"] in {"kmeans", "inner"}]
    results = [CellResult(cell, experiment.compute(cell, None), 0.1) for cell in wanted]
    raw, scaled = experiment.summarise(results)
    for table in (raw, scaled):
        known = [row for row in table.rows if row.ours is not None]
        assert {row.row for row in known} == {"iris, 40% noise", "mean, 40% noise"}
        assert all(0 <= row.ours <= 1 for row in known)


@pytest.mark.slow
@pytest.mark.parametrize(("scaled", "gain"), [(False, 0.02), (True, 0.0)])
def test_resampled_views_withstand_noise(shared, scaled, gain):
    gains = []
    for data, y in all_sets(shared).values():
        starts = [add_noise(draw_start(data, y, 500, seed), 0.4) for seed in range(8)]
        starts = [standardise(start) for start in starts] if scaled else starts
        gains.append(np.mean([nmi_score(s.y, inner_labels(s, Views(50, 0.5), 50))
                              - nmi_score(s.y, plain_labels(s)) for s in starts]))  # fmt: skip
    assert np.mean(gains) >= gain
