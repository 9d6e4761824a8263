"""Members' outputs and affinities at random, and a fusion that keeps what it is given."""

import numpy as np

from ensemblage.fusion import FusionContext, Mean


def random_outputs(seed, n_members=3, n_samples=30, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), size=(n_members, n_samples))


def near(seed, n_members=3, n_samples=30, scale=3.0):
    return scale * np.random.default_rng(seed).normal(size=(n_samples, n_members))


def near_context(*size):
    return FusionContext(affinity=near(*size))


class KeepsOutputs(Mean):
    """Keeps what it was fitted on."""

    def requires_fit(self, *, numeric=False):
        return True

    def fit(self, outputs, y, context=None, *, numeric=False, sample_weight=None):
        self.outputs_, self.numeric_ = outputs, numeric
        return self
