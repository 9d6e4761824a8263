import numpy as np
import pytest

from bayes.coded import draw
from ensemblage.bayes import NO_EXTRA, Candidates, Structure, make_measure
from ensemblage.bayes import _score_kernels as kernels
from ensemblage.bayes import _search as _k2_search


@pytest.mark.parametrize(
    "kernel",
    [
        "leave_one_out_scores", "score_by_entry", "add_ratios", "local_scores",
    ],
)  # fmt: skip
def test_the_compiled_kernels_are_the_python_ones(kernel, monkeypatch):
    rows = draw(1, n_rows=50)
    views = np.random.default_rng(1).choice([0.0, 1.0], (2, 50))
    if kernel == "leave_one_out_scores":
        views = views / 2
    candidates = Candidates(Structure(((), (0,), (0, 1), (0,))), 3, np.array([NO_EXTRA, 1, 2]))
    scores = (
        ("bic", "k2", "bdeu") if kernel == "local_scores" else ("accuracy", "probability", "log")
    )
    for score in scores:
        expected = make_measure(score, rows, 0.5).score_views(candidates, views)
        with monkeypatch.context() as patch:
            caller = _k2_search if hasattr(_k2_search, kernel) else kernels
            patch.setattr(caller, kernel, getattr(kernels, kernel).python)
            found = make_measure(score, rows, 0.5).score_views(candidates, views)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
