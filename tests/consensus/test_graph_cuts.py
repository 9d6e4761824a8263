import numpy as np

from consensus.noisy import noisy_partitions
from ensemblage.consensus import HBGF
from ensemblage.consensus._graph_cuts import CUT_ROWS
from ensemblage.evaluation import nmi_score


def test_very_many_rows_are_cut_by_a_sample():
    truth = np.random.default_rng(0).integers(0, 4, CUT_ROWS + 5000)
    model = HBGF(4, random_state=0).fit_partitions(noisy_partitions(truth, 6, 0.1))
    assert nmi_score(truth, model.labels_) > 0.9
