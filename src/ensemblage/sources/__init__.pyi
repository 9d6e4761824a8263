from ._audit import AuditedSource as AuditedSource
from ._audit import ColumnShift as ColumnShift
from ._audit import HeldOut as HeldOut
from ._audit import SourceAudit as SourceAudit
from ._audit import held_out as held_out
from ._audit import ordinary_folds as ordinary_folds
from ._audit import source_audit as source_audit
from ._audit import source_folds as source_folds
from ._calibration import RecalibratedClassifier as RecalibratedClassifier
from ._calibration import as_log_proba as as_log_proba
from ._calibration import calibrate_site as calibrate_site
from ._calibration import choose_ridge as choose_ridge
from ._calibration import fit_offsets as fit_offsets
from ._calibration import recalibrate as recalibrate
from ._calibration import spoken as spoken
from ._display import SourceDisplay as SourceDisplay
from ._display import draw_calibration_fan as draw_calibration_fan
from ._partial_pooling import Deviation as Deviation
from ._partial_pooling import PartialPoolingClassifier as PartialPoolingClassifier
from ._partial_pooling import PartialPoolingRegressor as PartialPoolingRegressor
from ._random_effects import new_bound as new_bound
from ._source_codes import Parted as Parted
from ._source_codes import SourceCodes as SourceCodes
from ._source_codes import find_sources as find_sources
from ._source_codes import number_sources as number_sources
from ._source_codes import part_known_column as part_known_column
from ._source_codes import part_sources as part_sources
from ._source_codes import source_classes as source_classes
from ._source_strata import SourceStrata as SourceStrata

__all__ = [
    "AuditedSource",
    "ColumnShift",
    "Deviation",
    "PartialPoolingClassifier",
    "PartialPoolingRegressor",
    "RecalibratedClassifier",
    "SourceAudit",
    "SourceDisplay",
    "SourceStrata",
    "recalibrate",
    "source_audit",
]
