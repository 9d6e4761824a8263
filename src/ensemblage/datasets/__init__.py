"""Tables in: files, named and generated data, encoding."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "ColumnCard",
    "Columns",
    "DataCard",
    "Dataset",
    "DatasetInfo",
    "HiddenFeatures",
    "Reading",
    "Table",
    "TableEncoder",
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
