from itertools import product

import numpy as np
import pandas as pd
import pytest

from ensemblage.bayes import BayesNetClassifier, EntryCapError


def fit_chain(seed=0, n_columns=5, **settings):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    columns = [rng.integers(0, 3, 300)]
    for _ in range(n_columns - 1):
        columns.append(
            np.where(rng.random(300) < 0.6, (columns[-1] + y) % 3, rng.integers(0, 3, 300))
        )
    X = pd.DataFrame(np.array(columns).T.astype(str), columns=[*"abcde"[:n_columns]])
    return BayesNetClassifier(missing="marginal", calibration=None, **settings).fit(X, y), X


def enumerate_slowly(network, row):
    """Sum the joint probability over all values of the missing cells."""
    gaps = [name for name in row.index if pd.isna(row[name])]
    total = np.zeros(2)
    tables = {name: network.graph().table(name) for name in network.parents_}
    states = network.categories_
    for values in product(*(range(len(states[name])) for name in gaps)):
        filled = dict(zip(gaps, values, strict=True))
        for name in row.index:
            if name not in filled:
                filled[name] = states[name].index(row[name])
        for label in range(2):
            filled["class"] = label
            joint = 1.0
            for name, table in tables.items():
                joint *= table[tuple(filled[p] for p in (*network.parents_[name], name))]
            total[label] += joint
    return total / total.sum()


@pytest.mark.parametrize("seed", range(4))
def test_summing_over_gaps_equals_enumeration(seed):
    network, X = fit_chain(seed)
    rng = np.random.default_rng(seed)
    rows = X[:25].astype(object).mask(rng.random((25, 5)) < 0.5, None)
    expected = [enumerate_slowly(network, row) for _, row in rows.iterrows()]
    np.testing.assert_allclose(network.predict_proba(rows), expected, rtol=1e-10)


def test_a_row_of_gaps_is_the_prior():
    network, X = fit_chain()
    rows = pd.DataFrame([[None] * 5], columns=X.columns)
    np.testing.assert_allclose(network.predict_proba(rows)[0], np.exp(network.class_log_prior_))


def test_without_gaps_both_ways_agree():
    network, X = fit_chain()
    with_mode = network.predict_proba(X)
    extra = pd.concat([X, X[:1].assign(a=None)])
    np.testing.assert_allclose(network.predict_proba(extra)[:-1], with_mode, rtol=1e-12)


def test_tables_in_between_respect_the_cap():
    network, X = fit_chain(max_parents=4)
    network.max_entries = 5
    with pytest.raises(EntryCapError, match="missing values takes a table of"):
        network.predict_proba(X[:3].assign(b=None, c=None, d=None))
    network.max_entries = 40
    few = network.predict_proba(X[:30].assign(b=None))
    network.max_entries = 10**6
    np.testing.assert_allclose(few, network.predict_proba(X[:30].assign(b=None)))
