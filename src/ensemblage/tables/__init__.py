"""Tables of numbers, words, dates and gaps: how they are read, and how they become numbers."""

from ensemblage.tables._column import MISSING as MISSING
from ensemblage.tables._column import Column as Column
from ensemblage.tables._encode_mixin import ENCODE_CONSTRAINT as ENCODE_CONSTRAINT
from ensemblage.tables._encode_mixin import ENCODE_DOCS as ENCODE_DOCS
from ensemblage.tables._encode_mixin import EncodeMixin as EncodeMixin
from ensemblage.tables._encode_mixin import as_pipeline as as_pipeline
from ensemblage.tables._encode_mixin import is_raw_table as is_raw_table
from ensemblage.tables._number_rows import are_usual as are_usual
from ensemblage.tables._number_rows import refuse_dates as refuse_dates
from ensemblage.tables._number_rows import refuse_infinite as refuse_infinite
from ensemblage.tables._number_rows import refuse_overflow as refuse_overflow
from ensemblage.tables._number_rows import validate_numbers as validate_numbers
from ensemblage.tables._read_columns import as_kind as as_kind
from ensemblage.tables._read_columns import feature_names as feature_names
from ensemblage.tables._read_columns import is_frame as is_frame
from ensemblage.tables._read_columns import per_column as per_column
from ensemblage.tables._read_columns import read_columns as read_columns
from ensemblage.tables._read_columns import read_features as read_features
from ensemblage.tables._table_encoder import TableEncoder
from ensemblage.tables._table_encoder import feature_categories as feature_categories

__all__ = ["TableEncoder"]
