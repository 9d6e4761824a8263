from ._blocks import BLOCK_ROWS as BLOCK_ROWS
from ._blocks import Block as Block
from ._blocks import BlockSource as BlockSource
from ._blocks import MemoryBlocks as MemoryBlocks
from ._blocks import add_fields as add_fields
from ._blocks import merge as merge
from ._blocks import of_carries as of_carries
from ._blocks import pick_rows as pick_rows
from ._dask import DaskBlocks as DaskBlocks
from ._dask import ParquetParts as ParquetParts
from ._dask import lazy_on_dask as lazy_on_dask
from ._files import NpyBlocks as NpyBlocks
from ._open import is_source as is_source
from ._open import open_blocks as open_blocks
from ._parquet import ParquetBlocks as ParquetBlocks
from ._parquet import parquet_columns as parquet_columns
from ._scaling import ColumnExtent as ColumnExtent
from ._scaling import column_extent as column_extent
from ._scaling import note_columns as note_columns
from ._scaling import standardised as standardised

__all__ = [
    "BLOCK_ROWS",
    "Block",
    "BlockSource",
    "DaskBlocks",
    "MemoryBlocks",
    "NpyBlocks",
    "ParquetBlocks",
    "add_fields",
    "is_source",
    "merge",
    "open_blocks",
]
