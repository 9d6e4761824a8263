"""Generated prices of homes at four sites: categorical and date columns, missing values."""

import numpy as np

from ensemblage.datasets import Dataset, Table

LEVELS = {"harbour": 1.8, "hill": 0.8, "north": 1.0, "south": 1.3}


def homes_table(n_rows=120, seed=0):
    """Columns of the table, prices last."""
    rng = np.random.default_rng(seed)
    sites = rng.choice([*LEVELS], n_rows)
    area, rooms = rng.gamma(9, 12, n_rows).round(1), rng.integers(1, 7, n_rows).astype(float)
    kinds = rng.choice(["flat", "house", "loft"], n_rows).astype(object)
    price = 3e4 + 2500 * area * np.array([LEVELS[each] for each in sites])
    price += 9000 * rooms + 4e4 * (kinds == "loft") + rng.normal(0, 2e4, n_rows)
    area[::11], kinds[::13] = np.nan, None
    sold = np.datetime64("2019-01-01", "ms") + rng.integers(0, 1500, n_rows) * np.timedelta64(
        1, "D"
    )
    columns = {
        "area": area, "rooms": rooms, "kind": kinds, "sold on": sold,
        "site": sites.astype(object), "price": price.round(0),
    }  # fmt: skip
    return Table(tuple(columns), tuple(columns.values()))


def homes(n_rows=120, *, source=None):
    """The same as a dataset; the site is a column unless it is the source."""
    return Dataset.from_table(homes_table(n_rows), "price", name="homes", source=source)


def write_homes(path, n_rows=120):
    """Write a raw file: an identifier, dollar signs, thousands separators, n/a for missing."""
    table = homes_table(n_rows)
    lines = [",".join(["id", *table.names])]
    for i, row in enumerate(zip(*table.columns, strict=True)):
        area, rooms, kind, sold, site, price = row
        shown = "n/a" if i % 40 == 7 else f'"$ {price:,.0f}"'
        known = "" if np.isnan(area) else f"{area}"
        day = str(sold)[:10]
        lines.append(f"H{i:04d},{known},{rooms:.0f},{kind or ''},{day},{site},{shown}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
