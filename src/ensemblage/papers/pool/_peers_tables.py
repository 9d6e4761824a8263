"""Real tables that the pool was not designed on: half for design, half only to confirm."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import Dataset
from ensemblage.papers.sources._multilevel_tables import (
    CLASSIFICATION,
    HALVES,
    REGRESSION,
    plain_table,
    r_frame,
)
from ensemblage.pool import stratified_subsample

MAX_ROWS = 750
"""More rows are subsampled once, so that a fold has 500 training rows at most."""
MIN_CLASS_ROWS = 15
"""Of the subsample; rarer classes are left out."""
SUBSAMPLE_SEED = 0


class PeerTable(NamedTuple):
    """A table of an R package.

    Dropped are identifiers, copies of other columns, and what gives the target away or is known
    only after it.
    """

    package: str
    table: str
    target: str
    drop: tuple[str, ...] = ()


CLASS_TABLES = {
    "arrests": PeerTable("carData", "Arrests", "released"),
    "attrition": PeerTable("modeldata", "attrition", "Attrition"),
    "british-vote": PeerTable("carData", "BEPS", "vote"),
    "cancer-recurrence": PeerTable("medicaldata", "blood_storage", "Recurrence", (
        "Censor", "TimeToRecurrence", "AnyAdjTherapy", "AdjRadTherapy")),
    "cell-segmentation": PeerTable("modeldata", "cells", "class", ("case",)),
    "credit-status": PeerTable("modeldata", "credit_data", "Status"),
    "dengue": PeerTable("DAAG", "dengue", "NoYes"),
    "employment": PeerTable("openintro", "acs12", "employment", ("hrs_work", "time_to_work")),
    "frogs": PeerTable("DAAG", "frogs", "pres.abs"),
    "hawks": PeerTable("Stat2Data", "Hawks", "Species", (
        "CaptureTime", "ReleaseTime", "BandNumber")),
    "high-school-program": PeerTable("openintro", "hsb2", "prog", ("id",)),
    "hpc-jobs": PeerTable("modeldata", "hpc_data", "class"),
    "intensive-care": PeerTable("vcdExtra", "ICU", "died", ("white", "uncons")),
    "mortgages": PeerTable("AER", "HMDA", "deny"),
    "neurocognition": PeerTable("heplots", "NeuroCog", "Dx"),
    "olive-oils": PeerTable("dslabs", "olive", "area", ("region",)),
    "pitches": PeerTable("Stat2Data", "Kershaw", "PitchType", (
        "BatterNumber", "Outcome", "Class", "Result", "Swing", "Time", "Zone", "ABEvent",
        "Batter")),
    "shuttle-landing": PeerTable("MASS", "shuttle", "use"),
    "spam-emails": PeerTable("openintro", "email", "spam", ("time",)),
    "steroid-toxicity": PeerTable("modeldata", "steroidogenic_toxicity", "class"),
    "substance": PeerTable("mosaicData", "HELPrct", "substance", (
        "id", "female", "anysubstatus", "anysub", "daysanysub", "dayslink", "linkstatus", "link",
        "avg_drinks", "max_drinks", "hospitalizations")),
    "telephone-churn": PeerTable("modeldata", "wa_churn", "churn"),
    "us-vote": PeerTable("pscl", "vote92", "vote"),
    "vehicle-class": PeerTable("ggplot2", "mpg", "class", ("model",)),
}  # fmt: skip
NUMERIC_TABLES = {
    "athletes": PeerTable("DAAG", "ais", "pcBfat", ("lbm",)),
    "biomass": PeerTable("modeldata", "biomass", "HHV", ("sample", "dataset")),
    "birth-weights": PeerTable("openintro", "births14", "weight", ("lowbirthweight", "premie")),
    "body-weights": PeerTable("openintro", "bdims", "wgt"),
    "chemical-yield": PeerTable("modeldata", "chem_proc_yield", "yield"),
    "college-grades": PeerTable("Stat2Data", "FirstYearGPA", "GPA"),
    "credit-balance": PeerTable("ISLR", "Credit", "Balance", ("ID",)),
    "deliveries": PeerTable("modeldata", "deliveries", "time_to_delivery"),
    "developer-salaries": PeerTable("modeldata", "stackoverflow", "Salary"),
    "fuel-economy": PeerTable("openintro", "epa2021", "comb_mpg", (
        "city_mpg", "hwy_mpg", "guzzler", "model_yr", "mfr_code", "carline", "model_type_index",
        "release_date", "air_aspir_method_desc", "transmission_desc", "drive_desc",
        "fuel_usage_desc", "fuel_cell")),
    "hotel-rates": PeerTable("modeldata", "hotel_rates", "avg_price_per_room", (
        "arrival_date", "agent", "company")),
    "infant-mortality": PeerTable("carData", "UN98", "infantMortality", (
        "lifeMale", "lifeFemale")),
    "journals": PeerTable("AER", "Journals", "subs", ("title",)),
    "saratoga-houses": PeerTable("mosaicData", "SaratogaHouses", "price"),
}  # fmt: skip
TABLES_OF = {CLASSIFICATION: CLASS_TABLES, REGRESSION: NUMERIC_TABLES}
HALF_OF = {
    task: {name: HALVES[place % 2] for place, name in enumerate(sorted(tables))}
    for task, tables in TABLES_OF.items()
}
"""Half of each table, by task: sorted by name, the first, third, fifth … is for design."""


class PeerRows(NamedTuple):
    """Features as in the table, and the target.

    ``y`` has codes of the classes, or a numeric target in standard deviations, and then
    ``n_classes`` is 0.
    """

    X: NDArray[Any]
    kinds: tuple[str, ...]
    y: NDArray[Any]
    n_classes: int


def task_of(name: str) -> str:
    return next(task for task, tables in TABLES_OF.items() if name in tables)


@lru_cache(maxsize=64)
def peer_rows(name: str) -> PeerRows:
    """Read a table, once per process; raises a ValueError if it is not available."""
    task = task_of(name)
    table = TABLES_OF[task][name]
    try:
        frame = r_frame(table.package, table.table, table.drop)
    except ImportError as error:
        raise ValueError(str(error)) from error
    return read_frame(frame, table.target, name, classes=task == CLASSIFICATION)


def read_frame(frame: Any, target: str, name: str, *, classes: bool) -> PeerRows:
    """Read a data frame; rows without a target and rows of rare classes are left out."""
    frame = frame[frame[target].notna()]
    task = CLASSIFICATION if classes else REGRESSION
    table = plain_table(frame, (target,) if classes else ())
    data = Dataset.from_table(table, target, name=name, task=task)
    target_values = np.asarray(data.y)
    codes = np.unique(target_values, return_inverse=True)[1] if classes else (
        np.zeros(len(target_values), dtype=np.intp))  # fmt: skip
    rows = stratified_subsample(np.arange(len(codes)), codes, MAX_ROWS, SUBSAMPLE_SEED)
    if not classes:
        values = target_values[rows].astype(float)
        return PeerRows(data.X[rows], tuple(data.kinds), values / values.std(), 0)
    rows = rows[np.bincount(codes[rows])[codes[rows]] >= MIN_CLASS_ROWS]
    labels, y = np.unique(target_values[rows], return_inverse=True)
    return PeerRows(data.X[rows], tuple(data.kinds), y.astype(np.intp), len(labels))


def peer_fingerprint(name: str) -> str:
    """Hash of a table's rows."""
    table = peer_rows(name)
    return hashlib.sha256(repr((table.X.tolist(), table.y.tolist())).encode()).hexdigest()[:16]
