"""Decisions inside one learner, taken by a crowd."""

from ensemblage.inner._ensemble import InnerEnsemble, Measure
from ensemblage.inner._kmeans import InnerKMeans
from ensemblage.inner._views import ViewSampler, draw_views

__all__ = ["InnerEnsemble", "InnerKMeans", "Measure", "ViewSampler", "draw_views"]
