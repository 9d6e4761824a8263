"""Reading tables from files, named and generated datasets, and encoding."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
