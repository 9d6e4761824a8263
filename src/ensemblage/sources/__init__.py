"""Rows whose source is known: partial pooling, audit, recalibration, prediction sets."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "AdaptedClassifier",
    "AdaptedRegressor",
    "PartialPoolingClassifier",
    "PartialPoolingRegressor",
    "RecalibratedClassifier",
    "SourceAudit",
    "SourceAuditDisplay",
    "SourceStrata",
    "adapt",
    "recalibrate",
    "source_audit",
]
