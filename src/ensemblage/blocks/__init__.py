"""Where the rows live: one map-and-merge interface over blocks of rows."""

from ensemblage.blocks._memory import MemoryBlocks
from ensemblage.blocks._source import BLOCK_ROWS, Block, BlockSource, add_fields, merge

__all__ = ["BLOCK_ROWS", "Block", "BlockSource", "MemoryBlocks", "add_fields", "merge"]
