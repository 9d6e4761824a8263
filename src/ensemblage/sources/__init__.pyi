from ._adapt import AdaptedClassifier as AdaptedClassifier
from ._adapt import AdaptedRegressor as AdaptedRegressor
from ._adapt import BaseAdapted as BaseAdapted
from ._adapt import SourceScaler as SourceScaler
from ._adapt import adapt as adapt
from ._audit import cross_predict as cross_predict
from ._audit import errors as errors
from ._audit import source_audit as source_audit
from ._audit import summary_of as summary_of
from ._audit_result import MAIN_MEASURES as MAIN_MEASURES
from ._audit_result import AuditedSource as AuditedSource
from ._audit_result import MeasureSummary as MeasureSummary
from ._audit_result import ReferenceModel as ReferenceModel
from ._audit_result import SourceAudit as SourceAudit
from ._audit_result import TimeValidation as TimeValidation
from ._audit_result import interval_text as interval_text
from ._audit_result import sources_table as sources_table
from ._calibration import RecalibratedClassifier as RecalibratedClassifier
from ._calibration import add_intercepts as add_intercepts
from ._calibration import as_log_proba as as_log_proba
from ._calibration import choose_intercept_penalty as choose_intercept_penalty
from ._calibration import fit_calibration as fit_calibration
from ._calibration import fit_intercepts as fit_intercepts
from ._calibration import fit_value_calibration as fit_value_calibration
from ._calibration import recalibrate as recalibrate
from ._display import Forest as Forest
from ._display import Line as Line
from ._display import Panel as Panel
from ._display import Panels as Panels
from ._display import SourceAuditDisplay as SourceAuditDisplay
from ._display import forests as forests
from ._display import panels_of as panels_of
from ._display import period_forests as period_forests
from ._meta_analysis import MIN_SOURCES as MIN_SOURCES
from ._meta_analysis import upper_prediction_limit as upper_prediction_limit
from ._partial_pooling import Deviation as Deviation
from ._partial_pooling import PartialPoolingClassifier as PartialPoolingClassifier
from ._partial_pooling import PartialPoolingRegressor as PartialPoolingRegressor
from ._source_codes import Periods as Periods
from ._source_codes import balanced_folds as balanced_folds
from ._source_codes import class_source_pairs as class_source_pairs
from ._source_codes import encode_sources as encode_sources
from ._source_codes import expanding_folds as expanding_folds
from ._source_codes import expect_source_names as expect_source_names
from ._source_codes import lookup_sources as lookup_sources
from ._source_codes import outer_sources as outer_sources
from ._source_codes import read_periods as read_periods
from ._source_codes import source_column as source_column
from ._source_codes import source_folds as source_folds
from ._source_codes import source_labels as source_labels
from ._source_codes import split_fitted_column as split_fitted_column
from ._source_codes import split_source_column as split_source_column
from ._source_measures import MIN_WINDOWS as MIN_WINDOWS
from ._source_measures import VALUE_MEASURES as VALUE_MEASURES
from ._source_measures import Predicted as Predicted
from ._source_measures import class_measures as class_measures
from ._source_measures import next_period as next_period
from ._source_strata import SourceStrata as SourceStrata

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
