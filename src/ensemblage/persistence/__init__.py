"""Save and load models without pickle, and write files whole or not at all."""

from ensemblage.persistence._atomic import check_writable, write_atomically
from ensemblage.persistence._models import SavedModel, load, save
from ensemblage.persistence._trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "SavedModel",
    "check_writable",
    "load",
    "save",
    "write_atomically",
]
