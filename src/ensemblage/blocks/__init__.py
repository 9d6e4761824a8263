"""Where the rows live: one map-and-merge interface over blocks of rows."""

from ensemblage.blocks._column_extent import ColumnExtent as ColumnExtent
from ensemblage.blocks._column_extent import column_extent as column_extent
from ensemblage.blocks._column_extent import note_columns as note_columns
from ensemblage.blocks._dask_rows import DaskBlocks
from ensemblage.blocks._file_rows import NpyBlocks
from ensemblage.blocks._lazy_rows import lazy_on_dask as lazy_on_dask
from ensemblage.blocks._memory import MemoryBlocks
from ensemblage.blocks._open_blocks import is_source, open_blocks
from ensemblage.blocks._parquet_parts import ParquetParts as ParquetParts
from ensemblage.blocks._parquet_rows import ParquetBlocks
from ensemblage.blocks._parquet_rows import parquet_columns as parquet_columns
from ensemblage.blocks._scaled_rows import standardised as standardised
from ensemblage.blocks._source import BLOCK_ROWS, Block, BlockSource, add_fields, merge
from ensemblage.blocks._source import of_carries as of_carries

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
