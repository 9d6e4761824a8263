import numpy as np

from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._strength import STRENGTHS, choose_strength


def test_noise_wants_a_strong_penalty_and_clean_data_a_weak_one():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 20)), rng.integers(2, size=150)
    means, clean = standardise(X), (X[:, 0] > 0).astype(int)
    weak = choose_strength(as_rows(X, clean, 2, means), np.random.default_rng(0))
    strong = choose_strength(as_rows(X, noise, 2, means), np.random.default_rng(0))
    assert {weak, strong} <= set(STRENGTHS)
    assert weak > strong
