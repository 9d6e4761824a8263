"""Rows of a table with two columns: the last of them is incomplete."""

from ensemblage.papers._summaries import entry

ROWS = [
    entry("one", "a", [0.1, 0.3], paper=0.25),
    entry("one", "b", [0.4, 0.4], paper=0.5),
    entry("two", "a", [0.5, 0.5], paper=0.5),
    entry("two", "b", [0.2, 0.2]),
    entry("three", "a", []),
    entry("three", "b", [0.9]),
]
