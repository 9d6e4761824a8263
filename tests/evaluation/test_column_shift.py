import numpy as np
import pytest

from ensemblage.evaluation._column_shift import column_shift
from ensemblage.tables import Column

NAMES = ["a", "b", "c"]
SOURCES = np.repeat([0, 1, 2], 100)
RNG = np.random.default_rng(0)


def test_numbers_that_one_source_has_of_its_own():
    numbers = RNG.normal(size=300) + 5 * (SOURCES == 1)
    found = column_shift(Column("age", numbers), SOURCES, NAMES)
    assert found.source == "b"
    assert found.strength > 0.7
    assert float(found.there) == pytest.approx(5, abs=0.5)
    assert float(found.elsewhere) == pytest.approx(0, abs=0.5)


def test_numbers_and_words_that_are_alike_everywhere():
    numbers = column_shift(Column("age", RNG.normal(size=300)), SOURCES, NAMES)
    words = Column("job", values=RNG.choice(["x", "y", None], 300).tolist())
    assert numbers.strength < 0.15
    assert column_shift(words, SOURCES, NAMES).strength < 0.15


def test_words_by_hand():
    """In c all rows have y, elsewhere half of them: expected are 100/3 of x and 200/3 of y."""
    values = ["x", "y"] * 100 + ["y"] * 100
    found = column_shift(Column("job", values=values), SOURCES, NAMES)
    assert (found.source, found.there, found.elsewhere) == ("c", "y 100%", "y 50%")
    chi2 = 2 * (50 / 3) ** 2 / (100 / 3) + 100 / 3 + 2 * (50 / 3) ** 2 / (200 / 3) + 50 / 3
    corrected = (chi2 / 300 - 2 / 299) / (2 - 1 / 299 - 1)
    assert found.strength == pytest.approx(np.sqrt(corrected))


def test_equal_medians_are_told_by_their_means():
    numbers = np.where((SOURCES == 0) & (np.arange(300) % 4 == 0), 1.0, 0.0)
    found = column_shift(Column("paid", numbers), SOURCES, NAMES)
    assert (found.there, found.elsewhere) == ("mean 0.25", "mean 0")


def test_constant_and_empty_columns_do_not_shift():
    assert column_shift(Column("one", np.ones(300)), SOURCES, NAMES).strength == 0
    empty = Column("none", np.full(300, np.nan))
    assert column_shift(empty, SOURCES, NAMES).strength == 0
