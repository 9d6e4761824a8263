import numpy as np

from ensemblage.evaluation._site_facts import (
    compared_class,
    coverages,
    recalibrated_loss,
    site_calibrations,
)
from ensemblage.evaluation._source_predictions import HeldOut


def sites(offsets, n_rows=400, seed=0):
    """Rows of sources in which the log odds are off by so much."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(len(offsets)), n_rows)
    said = rng.normal(size=len(sources))
    truth = said + np.array(offsets)[sources]
    labels = (rng.random(len(sources)) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    p = 1 / (1 + np.exp(-said))
    return HeldOut(np.column_stack([1 - p, p])), labels, sources


def test_offsets_are_found_and_the_slope_is_one():
    held, labels, sources = sites([0.0, 1.0, -1.0, 0.0], n_rows=1500)
    found = site_calibrations(held, labels, sources, 1)
    np.testing.assert_allclose(found.offsets.values, [0, 1, -1, 0], atol=0.3)
    np.testing.assert_allclose(np.exp(found.log_slopes.values), 1.0, atol=0.25)
    assert (found.offsets.low < found.offsets.values).all()


def test_small_sources_are_drawn_to_the_others():
    held, labels, sources = sites([0.0, 0.0, 0.0, 0.0], n_rows=200)
    few = np.arange(603)
    labels = labels.copy()
    labels[600:603] = 1
    found = site_calibrations(HeldOut(held.shares[few]), labels[few], sources[few], 1)
    assert abs(found.offsets.values[3]) < 0.7


def test_intervals_cover_known_truths():
    rng = np.random.default_rng(0)
    hits = []
    for run in range(30):
        offsets = 0.6 * rng.normal(size=8)
        found = site_calibrations(*sites(offsets, 120, run), 1).offsets
        hits.append(((found.low <= offsets) & (offsets <= found.high)).mean())
    assert 0.9 < np.mean(hits) < 0.99


def test_coverage_of_sources_alike_and_of_one_that_differs():
    held, labels, sources = sites([0.0, 0.0, 0.0, -4.0], n_rows=1000)
    found = coverages(held, labels, sources, 0.9)
    assert found[3] < 0.8
    alike = coverages(*sites([0.0, 0.0, 0.0], n_rows=1000), 0.9)
    np.testing.assert_allclose(alike, 0.9, atol=0.03)


def test_recalibration_lowers_the_loss_of_a_source_that_is_off():
    held, labels, sources = sites([0.0, 2.5])
    own = np.flatnonzero(sources == 1)
    assert recalibrated_loss(held, labels, own) < 0.8 * held.losses(labels)[own].mean()


def test_rates_are_of_the_second_class_or_of_the_most_frequent_one():
    assert compared_class(HeldOut(np.ones((3, 2)) / 2), np.array([0, 0, 1])) == 1
    assert compared_class(HeldOut(np.ones((3, 3)) / 3), np.array([2, 2, 1])) == 2
