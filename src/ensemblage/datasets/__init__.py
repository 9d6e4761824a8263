"""Tables from files, and datasets by name."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.datasets._data_card import ColumnCard, DataCard
    from ensemblage.datasets._data_card import range_text as range_text
    from ensemblage.datasets._dataset import Columns, Dataset, align_table, dataset_fingerprint
    from ensemblage.datasets._dataset import align_columns as align_columns
    from ensemblage.datasets._dataset import column_notes as column_notes
    from ensemblage.datasets._file_names import check_file as check_file
    from ensemblage.datasets._file_names import is_parquet as is_parquet
    from ensemblage.datasets._file_names import names_file as names_file
    from ensemblage.datasets._files import naming_file as naming_file
    from ensemblage.datasets._files import read_table
    from ensemblage.datasets._free_memory import free_memory as free_memory
    from ensemblage.datasets._hidden_features import HiddenFeatures, make_hidden_features
    from ensemblage.datasets._multi_source import make_multi_source, make_video_standin
    from ensemblage.datasets._multi_source_numbers import make_multi_source_regression
    from ensemblage.datasets._open import (
        DatasetInfo,
        TargetNotGivenError,
        list_datasets,
        load_dataset,
        open_dataset,
    )
    from ensemblage.datasets._open import find_folder as find_folder
    from ensemblage.datasets._parquet import parquet_bytes as parquet_bytes
    from ensemblage.datasets._quarter_circle import make_quarter_circle
    from ensemblage.datasets._reading_options import Reading
    from ensemblage.datasets._table import EITHER as EITHER
    from ensemblage.datasets._table import Table
    from ensemblage.datasets._table import is_missing as is_missing
    from ensemblage.datasets._table_rows import TableRows as TableRows
    from ensemblage.datasets._targets import fold_labels as fold_labels
    from ensemblage.datasets.streams import FileTarget as FileTarget
    from ensemblage.datasets.streams import TableBlocks as TableBlocks
    from ensemblage.datasets.streams import number_columns as number_columns
    from ensemblage.datasets.streams import one_block as one_block
    from ensemblage.datasets.streams import open_table as open_table
    from ensemblage.datasets.streams import read_parquet_target as read_parquet_target
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "ColumnCard",
    "Columns",
    "DataCard",
    "Dataset",
    "DatasetInfo",
    "HiddenFeatures",
    "Reading",
    "Table",
    "TargetNotGivenError",
    "align_table",
    "dataset_fingerprint",
    "list_datasets",
    "load_dataset",
    "make_hidden_features",
    "make_multi_source",
    "make_multi_source_regression",
    "make_quarter_circle",
    "make_video_standin",
    "open_dataset",
    "read_table",
]
