"""Explanations of fitted models, and reports of results as HTML."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Explanation", "explain_model", "render"]
