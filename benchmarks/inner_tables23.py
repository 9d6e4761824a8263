"""Print Tables 2 and 3 and the noise table of the Inner Ensembles paper, ours (paper's)."""

import argparse

from ensemblage.datasets import load_dataset
from ensemblage.experiments._inner_paper_figures import TABLE_2
from ensemblage.experiments._inner_tables23 import (
    QUICK,
    Protocol,
    dataset_rows,
    noise_rows,
    numeric_features,
    table_lines,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", help="folder of NAME.csv files")
    parser.add_argument("--full", action="store_true", help="the paper's whole grid")
    parser.add_argument("--noise", action="store_true", help="the noise table instead")
    options = parser.parse_args()
    datasets = {name: load_dataset(name, options.data_dir) for name in TABLE_2}
    data = {name: (numeric_features(each), each.y) for name, each in datasets.items()}
    if options.noise:
        return show_noise(data)
    found = {}
    for name, (X, y) in data.items():
        found[name] = dataset_rows(X, y, Protocol() if options.full else QUICK)
        print(name, "done", flush=True)
    for measure in ("nmi", "purity"):
        print("\n".join(table_lines(found, measure)), end="\n\n")
    return None


def show_noise(data):
    print(f"{'':14s}{'noise':>8s}{'scaled':>8s}{'K-means':>9s}{'inner':>9s}")
    total = {}
    for name, (X, y) in data.items():
        for row in noise_rows(X, y, (0.0, 0.2, 0.4, 0.6)):
            total.setdefault((row["noise"], row["scaled"]), []).append(row)
            print(f"{name:14s}{row['noise']:8.0%}{row['scaled']!s:>8s}"
                  f"{row['kmeans']:9.3f}{row['inner']:9.3f}", flush=True)  # fmt: skip
    for (noise, scaled), rows in total.items():
        plain, inner = (sum(row[key] for row in rows) / len(rows) for key in ("kmeans", "inner"))
        better = sum(row["inner"] > row["kmeans"] for row in rows)
        print(f"{'mean':14s}{noise:8.0%}{scaled!s:>8s}{plain:9.3f}{inner:9.3f}"
              f"   better on {better} of {len(rows)}")  # fmt: skip


if __name__ == "__main__":
    main()
