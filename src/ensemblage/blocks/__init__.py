"""Where the rows live: in memory, in files, on a cluster."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Block", "BlockSource", "MemoryBlocks", "open_blocks"]
