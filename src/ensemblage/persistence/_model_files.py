"""Saving and loading models without pickle."""

from __future__ import annotations

import io
import math
import re
import sys
import warnings
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import sklearn
import skops
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning

import ensemblage
from ensemblage._core import expect, set_module
from ensemblage.datasets import TrainingRanges
from ensemblage.persistence._atomic import HEADER, write_atomically
from ensemblage.persistence._trusted import check_parts, is_trusted

# Version of the file format, increased when types or attributes in model files change.
FORMAT = 2
# Signature of an entry in the directory of a zip archive.
ENTRY_SIGNATURE = b"PK\x01\x02"
# Largest number of entries in a model file.
MAX_ENTRIES = 100_000
# Largest unpacked size, in bytes, ...
MAX_BYTES = 50_000_000
# ... or as a multiple of the file size, if that is larger.
MAX_RATIO = 20
# The module of skops that reads and writes models.
SKOPS_IO = "skops.io"
# Its module with the lists of types that skops trusts by default.
TRUSTED_LISTS = "skops.io._trusted_types"


@cache
def skops_io() -> Any:
    """Import a private copy of skops.io that trusts plain values only.

    The lists of types that skops trusts by default import all of scikit-learn, which takes longer
    than a prediction (decision 0016).
    """
    package = import_module("skops")
    theirs = _remove_modules()
    attribute = vars(package).pop("io", None)
    sys.modules[TRUSTED_LISTS] = _plain_trusted_types()
    try:
        return import_module(SKOPS_IO)
    finally:
        _remove_modules()
        sys.modules.update(theirs)
        vars(package).pop("io", None)
        if attribute is not None:
            vars(package)["io"] = attribute


def _remove_modules() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == SKOPS_IO or name.startswith(f"{SKOPS_IO}.")]
    return {name: sys.modules.pop(name) for name in names}


def _plain_trusted_types() -> ModuleType:
    """Make the module of trusted types: plain Python values and NumPy dtypes."""

    def nothing(name: str) -> list[str]:
        if not name.endswith("_NAMES"):
            raise AttributeError(name)
        return []

    base = np.random.BitGenerator
    random = [
        name
        for name, kind in vars(np.random).items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    ]
    lists = ModuleType(TRUSTED_LISTS)
    vars(lists).update(
        PRIMITIVE_TYPE_NAMES=["builtins.int", "builtins.float", "builtins.str", "builtins.bool"],
        CONTAINER_TYPE_NAMES=["builtins.list", "builtins.set", "builtins.map", "builtins.tuple"],
        NUMPY_DTYPE_TYPE_NAMES=sorted({f"numpy.{t.__name__}" for t in np.sctypeDict.values()}),
        NUMPY_RANDOM_BIT_GENERATOR_TYPE_NAMES=[f"numpy.random.{name}" for name in random],
        __getattr__=nothing,
    )
    return lists


class _Version(msgspec.Struct, frozen=True):
    """The field that headers of all format versions have."""

    format: int


class SourceColumn(msgspec.Struct, frozen=True):
    """The source column of a model, or both columns of nested sources.

    Parameters
    ----------
    name : str
        The column name; of nested sources, that of the outer ones.
    known : tuple of str
        The sources in the training data; of nested sources, the outer ones.
    inner : str or None, default=None
        The column of the inner sources.
    known_inner : tuple of (str, str), default=()
        Outer and inner source of each pair in the training data.

    Examples
    --------
    >>> from ensemblage.persistence import SavedModel, SourceColumn
    >>> SavedModel(None, source=SourceColumn("clinic", ("Bern", "Basel"))).source.name
    'clinic'
    """

    name: str
    known: tuple[str, ...]
    inner: str | None = None
    known_inner: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, columns: str | Sequence[str], values: Iterable[Any]) -> SourceColumn:
        if isinstance(columns, str):
            return cls(columns, _distinct(values))
        outer, inner = columns
        pairs = sorted({(str(each[0]), str(each[1])) for each in values})
        return cls(outer, _distinct(each for each, _ in pairs), inner, tuple(pairs))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, the outer one first."""
        return (self.name,) if self.inner is None else (self.name, self.inner)


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of a model file."""

    format: int = FORMAT
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    target: str | None
    classes: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    source: SourceColumn | None = None
    training_ranges: TrainingRanges | None = None
    details: dict[str, Any]
    versions: dict[str, str]


@set_module("ensemblage.persistence")
@dataclass(frozen=True)
class SavedModel:
    """A fitted model with its metadata.

    Parameters
    ----------
    model : estimator
        The fitted model, including preprocessing.
    columns : tuple of str
        The columns that it was fitted on, in order.
    kinds : tuple of {"numeric", "categorical", "date"}
        The kind of each column.
    target : str or None, default=None
        The target column.
    classes : tuple of str, default=()
        The classes, in the order of the predicted probabilities.
    ignored : tuple of str, default=()
        Columns of the training file that were dropped; new files may have them.
    source : SourceColumn or None, default=None
        The source column of a source-aware model; new files may have it.
    training_ranges : TrainingRanges or None, default=None
        Range or categories of each column in training, if saved.
    details : mapping, default={}
        Other metadata, such as the method and the cross-validated score.
    versions : mapping of str to str, default={}
        Versions of the libraries that wrote the file.
    """

    model: Any
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    target: str | None = None
    classes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    source: SourceColumn | None = None
    training_ranges: TrainingRanges | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def save(
    model: Any,
    path: str | PathLike[str],
    *,
    columns: Sequence[str] = (),
    kinds: Sequence[str] = (),
    target: str | None = None,
    ignored: Sequence[str] = (),
    source: tuple[str | Sequence[str], Iterable[Any]] | None = None,
    X: NDArray[Any] | None = None,
    training_ranges: TrainingRanges | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Save a fitted model in one file.

    The file is written atomically. Only types that ``load`` trusts are written.

    Parameters
    ----------
    model : estimator
        A fitted scikit-learn estimator, usually a pipeline with its preprocessing.
    path : str or path-like
        The output file, by convention with the suffix ``.skops``.
    columns : sequence of str, default=()
        The names of the columns that the model was fitted on.
    kinds : sequence of {"numeric", "categorical", "date"}, default=()
        The kind of each column.
    target : str, default=None
        The target column.
    ignored : sequence of str, default=()
        Columns of the training file that were dropped.
    source : tuple of str and iterable, default=None
        The source column of a source-aware model, and its values; of nested sources both columns,
        and pairs of values.
    X : ndarray of shape (n_rows, n_columns), default=None
        The training rows. The range or the categories of each column are saved, so that
        ``read_rows`` can report unseen categories and rows outside the training range.
    training_ranges : TrainingRanges, default=None
        These of another model file, instead of ``X``.
    details : mapping, default=None
        Other metadata, of JSON types.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.persistence import load, save
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.skops", columns=["age"], kinds=["numeric"])
    ...     saved = load(Path(folder) / "model.skops")
    >>> saved.columns, saved.classes, saved.model.predict([[2.0]]).tolist()
    (('age',), ('no', 'yes'), ['yes'])
    """
    versions = {
        "ensemblage": ensemblage.__version__,
        "scikit-learn": sklearn.__version__,
        "skops": skops.__version__,
    }
    header = _Header(
        columns=tuple(columns),
        kinds=tuple(kinds),
        target=target,
        classes=_class_names(model),
        ignored=tuple(ignored),
        source=None if source is None else SourceColumn.of(*source),
        training_ranges=training_ranges if X is None else TrainingRanges.of(X, kinds),
        details=dict(details or {}),
        versions=versions,
    )
    data = skops_io().dumps(model, compression=zipfile.ZIP_DEFLATED)
    named = skops_io().get_untrusted_types(data=data)
    untrusted = [name for name in named if not is_trusted(name)]
    if untrusted:
        raise ValueError(
            f"The model contains {', '.join(untrusted)}, which load() does not trust: "
            "use estimators of scikit-learn or Ensemblage only."
        )
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, msgspec.json.format(msgspec.json.encode(header), indent=1))
    write_atomically(path, buffer.getvalue())


def _class_names(model: Any) -> tuple[str, ...]:
    return tuple(str(label) for label in getattr(model, "classes_", ()))


def _distinct(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for value in values}))


def load(path: str | PathLike[str], *, max_bytes: int | None = None) -> SavedModel:
    """Load a model that ``save`` wrote.

    No code from the file is executed: only types of scikit-learn and Ensemblage are allowed.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=None
        Largest unpacked size. The default is 50 MB or twenty times the file size, whichever is
        larger; it protects against files made to fill the memory.

    Returns
    -------
    SavedModel
        The model with its metadata.

    Warns
    -----
    UserWarning
        If another version of scikit-learn or a later version of Ensemblage wrote the file.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a model file.")
    if not path.exists():
        raise ValueError(f"There is no model file {path}.")
    data = path.read_bytes()
    limit = max(MAX_BYTES, MAX_RATIO * len(data)) if max_bytes is None else max_bytes
    header = _read_header(data, path, limit)
    skew = _version_skew(header.versions, path)
    with warnings.catch_warnings() if skew else nullcontext():
        if skew:  # one warning of ours instead of one per estimator
            warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = _construct(data, path, skew)
    if skew:
        warnings.warn(
            f"{skew}: predictions may differ. Fit the model again, or install those versions.",
            stacklevel=2,
        )
    if header.classes != _class_names(model):
        raise ValueError(f"{path} lists other classes than its model: it was not loaded.")
    return SavedModel(
        model=model,
        columns=header.columns,
        kinds=header.kinds,
        target=header.target,
        classes=header.classes,
        ignored=header.ignored,
        source=header.source,
        training_ranges=header.training_ranges,
        details=header.details,
        versions=header.versions,
    )


def _version_skew(versions: Mapping[str, str], path: Path) -> str:
    """State that another scikit-learn or a later Ensemblage wrote the file; else empty."""
    found = []
    there, here = versions.get("ensemblage", ""), ensemblage.__version__
    if _release(there) > _release(here):
        found.append(f"Ensemblage {there:.40} (here {here})")
    there, here = versions.get("scikit-learn", ""), sklearn.__version__
    if there not in {"", here}:
        found.append(f"scikit-learn {there:.40} (here {here})")
    return f"{path} was written with {' and '.join(found)}" if found else ""


def _release(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d{1,9}", version)[:3]]


def _read_header(data: bytes, path: Path, limit: int) -> _Header:
    if not data.startswith(b"PK"):
        raise ValueError(f"{path} is not a model file: `save()` writes one.")
    try:
        expect(data.count(ENTRY_SIGNATURE) <= MAX_ENTRIES, "there are too many entries")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # no entry is unpacked beyond the size in the archive's directory
            size = sum(part.file_size for part in archive.infolist())
            intact = size <= limit and archive.testzip() is None
            text = archive.read(HEADER) if intact and HEADER in archive.namelist() else None
    except Exception as error:
        # a damaged archive can raise any exception
        raise _damaged(path) from error
    if size > limit:
        raise ValueError(
            f"{path} unpacks to {size / 1e6:,.0f} MB, more than the {limit / 1e6:,.0f} MB allowed. "
            f"If you trust it, load it with `max_bytes={size}`."
        )
    if not intact:
        raise _damaged(path)
    if text is None:
        raise ValueError(f"{path} is not a model file of Ensemblage: it does not contain {HEADER}.")
    return _decode(text, path)


def _decode(text: bytes, path: Path) -> _Header:
    """Read the header; another format version has its own error."""
    try:
        version = msgspec.json.decode(text, type=_Version).format
        if version == FORMAT:
            header = msgspec.json.decode(text, type=_Header)
            _check_header(header)
            return header
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if version <= 0:
        raise _damaged(path)
    if version > FORMAT:
        raise ValueError(
            f"{path} has format {version}, written by a newer Ensemblage; this one reads format "
            f"{FORMAT}: upgrade it."
        )
    raise ValueError(
        f"{path} has format {version}, written by an older Ensemblage; this one reads format "
        f"{FORMAT}: fit the model again."
    )


def _check_header(header: _Header) -> None:
    width, seen = len(header.columns), header.training_ranges
    expect(len(header.kinds) in {0, width}, "kinds do not match the columns")
    expect(set(header.kinds) <= {"numeric", "categorical", "date"}, "kinds contain an unknown kind")
    expect(len(set(header.columns)) == width, "two columns have the same name")
    if seen is not None:
        lengths = {len(seen.ranges), len(seen.categories)}
        expect(lengths == {width}, "training_ranges do not match the columns")
        expect(0 <= seen.radius < math.inf, "the radius is not finite and non-negative")
        for limits in filter(None, seen.ranges):
            ordered = -math.inf < limits.low <= limits.centre <= limits.high < math.inf
            expect(ordered and 0 < limits.scale < math.inf, "a range is invalid")


def _construct(data: bytes, path: Path, skew: str) -> Any:
    try:
        named = skops_io().get_untrusted_types(data=data)
        untrusted = [name for name in named if not is_trusted(name)]
    except Exception as error:
        raise _damaged(path) from error
    if untrusted:
        raise ValueError(
            f"{path} contains types that are not trusted: {', '.join(untrusted)}. Nothing was "
            "loaded; files written by `save()` contain none."
        )
    try:
        model = skops_io().loads(data, trusted=named)
    except Exception as error:
        if skew:
            raise ValueError(
                f"{skew} and cannot be loaded here: fit the model again, or install those versions."
            ) from error
        raise _damaged(path) from error
    try:
        check_parts(model)
    except ValueError as error:
        raise ValueError(f"{path} {error}: it was not loaded.") from None
    return model


def _damaged(path: Path) -> ValueError:
    return ValueError(f"{path} is truncated or damaged: copy it again, or fit the model again.")
