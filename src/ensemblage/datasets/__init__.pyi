from ._chunked import TableBlocks as TableBlocks
from ._chunked import one_block as one_block
from ._chunked import open_table as open_table
from ._columns import MISSING_CODE as MISSING_CODE
from ._columns import Column as Column
from ._columns import is_frame as is_frame
from ._columns import per_column as per_column
from ._columns import read_columns as read_columns
from ._columns import read_features as read_features
from ._dataset import ColumnTypes as ColumnTypes
from ._dataset import Dataset as Dataset
from ._dataset import Target as Target
from ._dataset import align_columns as align_columns
from ._dataset import column_notes as column_notes
from ._dataset import dataset_fingerprint as dataset_fingerprint
from ._dataset import fold_labels as fold_labels
from ._dataset import frame_table as frame_table
from ._encode_mixin import ENCODE_CONSTRAINT as ENCODE_CONSTRAINT
from ._encode_mixin import ENCODE_DOCS as ENCODE_DOCS
from ._encode_mixin import EncodeMixin as EncodeMixin
from ._encode_mixin import as_pipeline as as_pipeline
from ._encode_mixin import is_raw_table as is_raw_table
from ._encoder import TableEncoder as TableEncoder
from ._encoder import feature_categories as feature_categories
from ._file_names import check_file as check_file
from ._file_names import is_parquet as is_parquet
from ._file_names import names_file as names_file
from ._files import naming_file as naming_file
from ._files import read_table as read_table
from ._generated import make_hidden_features as make_hidden_features
from ._generated import make_multi_source as make_multi_source
from ._generated import make_quarter_circle as make_quarter_circle
from ._novelty import TrainingRanges as TrainingRanges
from ._novelty import UnseenValues as UnseenValues
from ._novelty import count_categories as count_categories
from ._novelty import list_categories as list_categories
from ._open import DatasetInfo as DatasetInfo
from ._open import TargetNotGivenError as TargetNotGivenError
from ._open import find_folder as find_folder
from ._open import list_datasets as list_datasets
from ._open import load_dataset as load_dataset
from ._open import open_dataset as open_dataset
from ._options import ReadOptions as ReadOptions
from ._parquet import numeric_columns as numeric_columns
from ._parquet import parquet_bytes as parquet_bytes
from ._parquet import read_parquet_target as read_parquet_target
from ._summary import ColumnSummary as ColumnSummary
from ._summary import DataSummary as DataSummary
from ._summary import range_text as range_text
from ._table import NUMERIC_OR_LABEL as NUMERIC_OR_LABEL
from ._table import Table as Table
from ._table import is_missing as is_missing
from ._table import parse_number as parse_number

__all__ = [
    "Dataset",
    "Table",
    "TableEncoder",
    "list_datasets",
    "load_dataset",
    "make_hidden_features",
    "make_multi_source",
    "make_quarter_circle",
    "open_dataset",
    "read_table",
]
