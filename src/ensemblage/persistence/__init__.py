"""Save and load models without pickle, and write files whole or not at all."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.persistence._atomic import check_writable, write_atomically
    from ensemblage.persistence._atomic import open_atomically as open_atomically
    from ensemblage.persistence._models import SavedModel, SourceColumn, load, save
    from ensemblage.persistence._new_rows import NewRows, read_rows
    from ensemblage.persistence._new_rows import RowBlocks as RowBlocks
    from ensemblage.persistence._new_rows import open_rows as open_rows
    from ensemblage.persistence._trusted import TRUSTED_TYPES
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "TRUSTED_TYPES",
    "NewRows",
    "SavedModel",
    "SourceColumn",
    "check_writable",
    "load",
    "read_rows",
    "save",
    "write_atomically",
]
