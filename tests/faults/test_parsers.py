"""Parsers of our own, fed with texts near to what they read: a value, or a sentence.

``ENSEMBLAGE_FUZZ_SECONDS`` says for how long each is fed in the slow tests.
"""

import io
import os
import random
import resource
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.bayes import BayesNetwork
from ensemblage.datasets import read_table
from ensemblage.methods import read_experiment
from ensemblage.persistence import load, save
from faults.forged_tables import ARFF, BIF, ROWS, STUDY, XML
from made_estimators import MADE, fit_on, made_rows

SECONDS = float(os.environ.get("ENSEMBLAGE_FUZZ_SECONDS", "30"))
MOST_MEMORY = 500_000
"""In kilobytes, more than before."""
SEEDS = {"arff": ARFF, "csv": ROWS, "toml": STUDY, "bif": BIF, "xmlbif": XML}
PIECES = [
    "'", '"', "{", "}", "[", "]", "<", ">", "&", ";", ",", "\n", "\r", "\t", "\x00", "=", "%", "@",
    "?", "|", "-", "1e999", "nan", "9" * 400, "\u202e", "\ufeff", "@data", "<TABLE>", "variable",
]  # fmt: skip


def read(kind, text, folder):
    if kind in {"bif", "xmlbif"}:
        return getattr(BayesNetwork, f"from_{kind}")(text)
    path = folder / f"fed.{kind}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_experiment(path) if kind == "toml" else read_table(path)


def most_memory():
    """Peak of this process so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def value_or_sentence(kind, text, folder):
    try:
        read(kind, text, folder)
    except ValueError as error:
        assert str(error).strip()  # noqa: PT017


@st.composite
def near_texts(draw, seed):
    """Cut, repeat and replace parts of a text that can be read."""
    text = seed
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 20)))
        piece = draw(st.sampled_from(PIECES) | st.text(max_size=4) | st.just(text[start:end] * 3))
        text = text[:start] + piece + text[end:]
    return text


@pytest.mark.parametrize("kind", SEEDS)
def test_texts_near_to_good_ones(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fed")

    @settings(max_examples=25, deadline=None)
    @given(near_texts(SEEDS[kind]))
    def feed(text):
        value_or_sentence(kind, text, folder)

    feed()


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("kind", SEEDS)
def test_each_parser_for_a_while(kind, tmp_path):
    rng, end, fed = random.Random(0), time.monotonic() + SECONDS, 0  # noqa: S311
    before = most_memory()
    while time.monotonic() < end:
        text = SEEDS[kind]
        for _ in range(rng.randint(1, 6)):
            start = rng.randrange(len(text) + 1)
            stop = min(len(text), start + rng.randrange(20))
            piece = rng.choice([*PIECES, text[start:stop] * 3, "", chr(rng.randrange(0xD800))])
            text = text[:start] + piece + text[stop:]
        began = time.process_time()
        value_or_sentence(kind, text, tmp_path)
        assert time.process_time() - began < 5, text
        fed += 1
    assert fed > 10
    assert most_memory() - before < MOST_MEMORY


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_model_files_for_a_while(tmp_path):
    """Parts of a model file are changed, and packed again with the right sums."""
    path, rng = tmp_path / "model.skops", random.Random(0)  # noqa: S311
    X = made_rows()[0]
    save(fit_on(MADE["BayesNetClassifier"], X), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    end, before = time.monotonic() + SECONDS, most_memory()
    while time.monotonic() < end:
        name = rng.choice(list(parts))
        data = bytearray(parts[name])
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for each, whole in (parts | {name: bytes(data)}).items():
                archive.writestr(each, whole)
        path.write_bytes(buffer.getvalue())
        try:
            model = load(path).model
        except ValueError:
            continue
        try:
            model.predict_proba(X)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    assert most_memory() - before < MOST_MEMORY
