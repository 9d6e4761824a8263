"""Model files without pickle; files that are written whole or not at all."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SavedModel", "load", "save"]
