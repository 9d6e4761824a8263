"""Decisions inside one learner, taken by a crowd."""

from ensemblage.inner._ensemble import InnerEnsemble, Measure
from ensemblage.inner._views import ViewSampler, draw_views

__all__ = ["InnerEnsemble", "Measure", "ViewSampler", "draw_views"]
