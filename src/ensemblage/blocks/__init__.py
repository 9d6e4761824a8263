"""Block-wise access to rows in memory, in files or on a Dask cluster."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Block", "BlockSource", "MemoryBlocks", "open_blocks"]
