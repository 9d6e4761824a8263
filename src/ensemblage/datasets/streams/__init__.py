"""Tables too large to hold, read block by block with what the whole file decides."""

from ensemblage.datasets.streams._parquet_target import FileTarget as FileTarget
from ensemblage.datasets.streams._parquet_target import number_columns as number_columns
from ensemblage.datasets.streams._parquet_target import read_parquet_target as read_parquet_target
from ensemblage.datasets.streams._sampled_table import RowDraw as RowDraw
from ensemblage.datasets.streams._sampled_table import sample_table as sample_table
from ensemblage.datasets.streams._table_blocks import TableBlocks as TableBlocks
from ensemblage.datasets.streams._table_blocks import one_block as one_block
from ensemblage.datasets.streams._table_blocks import open_table as open_table
