"""Fuzzing of our parsers: a value, or a ValueError.

``ENSEMBLAGE_FUZZ_SECONDS`` is the duration per parser in the slow tests.
"""

import contextlib
import io
import os
import random
import resource
import time
import warnings
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.bayes import BayesNetwork
from ensemblage.datasets import read_table
from ensemblage.persistence import load, save
from ensemblage.studies import read_study
from faults.forged_tables import ARFF, BIF, ROWS, STUDY, XML
from made_estimators import COSTLY, MADE, fit_on, made_rows, outputs_of

SECONDS = float(os.environ.get("ENSEMBLAGE_FUZZ_SECONDS", "30"))
# Growth of the process, in kilobytes.
MAX_GROWTH = 500_000
SEEDS = {"arff": ARFF, "csv": ROWS, "toml": STUDY, "bif": BIF, "xmlbif": XML}
FRAGMENTS = [
    "'", '"', "{", "}", "[", "]", "<", ">", "&", ";", ",", "\n", "\r", "\t", "\x00", "=", "%", "@",
    "?", "|", "-", "1e999", "nan", "9" * 400, "\u202e", "\ufeff", "@data", "<TABLE>", "variable",
]  # fmt: skip


def read(kind, text, folder):
    if kind in {"bif", "xmlbif"}:
        return getattr(BayesNetwork, f"from_{kind}")(text)
    path = folder / f"fuzzed.{kind}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_study(path) if kind == "toml" else read_table(path)


def peak_memory():
    """Peak memory of this process, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def value_or_error(kind, text, folder):
    try:
        read(kind, text, folder)
    except ValueError as error:
        assert str(error).strip()  # noqa: PT017


@st.composite
def mutated_texts(draw, seed):
    """Cut, repeat and replace parts of a valid text."""
    text = seed
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 20)))
        fragment = draw(
            st.sampled_from(FRAGMENTS) | st.text(max_size=4) | st.just(text[start:end] * 3)
        )
        text = text[:start] + fragment + text[end:]
    return text


@pytest.mark.parametrize("kind", SEEDS)
def test_mutated_texts(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed")

    @settings(max_examples=25, deadline=None)
    @given(mutated_texts(SEEDS[kind]))
    def check(text):
        value_or_error(kind, text, folder)

    check()


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("kind", SEEDS)
def test_fuzzed_parsers(kind, tmp_path):
    rng, end, n_texts = random.Random(0), time.monotonic() + SECONDS, 0  # noqa: S311
    before = peak_memory()
    while time.monotonic() < end:
        text = SEEDS[kind]
        for _ in range(rng.randint(1, 6)):
            start = rng.randrange(len(text) + 1)
            stop = min(len(text), start + rng.randrange(20))
            fragment = rng.choice(
                [*FRAGMENTS, text[start:stop] * 3, "", chr(rng.randrange(0xD800))]
            )
            text = text[:start] + fragment + text[stop:]
        began = time.process_time()
        value_or_error(kind, text, tmp_path)
        assert time.process_time() - began < 5, text
        n_texts += 1
    assert n_texts > 10
    assert peak_memory() - before < MAX_GROWTH


def packed(parts):
    """Return the bytes of a model file, with valid checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, whole in parts.items():
            archive.writestr(name, whole)
    return buffer.getvalue()


def changed(rng, data):
    """Change up to four bytes, in half of the cases in the header."""
    data = bytearray(data)
    most = len(data) if rng.random() < 0.5 else min(len(data), 140)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(most)] = rng.randrange(256)
    return bytes(data)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_fuzzed_model_files(tmp_path):
    """A changed model file is refused, or its model predicts or raises a ValueError."""
    path, rng, X = tmp_path / "model.skops", random.Random(0), made_rows()[0]  # noqa: S311
    before, kinds = peak_memory(), [made for name, made in MADE.items() if name not in COSTLY]
    for made in kinds:
        save(fit_on(made, X), path)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        end = time.monotonic() + SECONDS / len(kinds)
        while time.monotonic() < end:
            name = rng.choice(list(parts))
            path.write_bytes(packed(parts | {name: changed(rng, parts[name])}))
            with warnings.catch_warnings(), contextlib.suppress(ValueError):
                warnings.simplefilter("ignore")
                outputs_of(load(path).model, X)
    assert peak_memory() - before < MAX_GROWTH
