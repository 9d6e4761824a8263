"""A worker killed during the fit of a pool does not change the result."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.pool import EnsemblageClassifier

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")


class DiesOnce(GaussianNB):
    """Kills its own process at the first fit, if there is a parent to notice."""

    def __init__(self, marker="", parent=0):
        super().__init__()
        self.marker = marker
        self.parent = parent

    def fit(self, X, y, sample_weight=None):
        if os.getpid() != self.parent and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


def test_killed_worker_does_not_change_the_pool(tmp_path, caplog):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + y[:, None]
    marker = tmp_path / "died"
    pool = ["logistic", ("mortal", DiesOnce(str(marker), os.getpid()))]
    one, two = (
        EnsemblageClassifier(pool, cv=2, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert marker.exists()
    assert "A worker process died" in caplog.text
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert two.leaderboard_.failures == ()
