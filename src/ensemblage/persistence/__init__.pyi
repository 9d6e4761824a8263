from ._atomic import KIND_NAMES as KIND_NAMES
from ._atomic import Kind as Kind
from ._atomic import check_writable as check_writable
from ._atomic import file_kind as file_kind
from ._atomic import is_same_file as is_same_file
from ._atomic import open_atomically as open_atomically
from ._atomic import write_atomically as write_atomically
from ._model_files import SavedModel as SavedModel
from ._model_files import SourceColumn as SourceColumn
from ._model_files import load as load
from ._model_files import save as save
from ._trusted import TRUSTED_TYPES as TRUSTED_TYPES

__all__ = ["SavedModel", "load", "save"]
