import numpy as np
import pytest

from ensemblage.papers.sources._source_sets import known_task, set_print, source_set


@pytest.fixture
def folder(tmp_path):
    rows = [f"{i % 7},{'' if i == 3 else i},{'nm'[i % 2]},{'ab'[i // 2 % 2]}" for i in range(80)]
    (tmp_path / "multi-source").mkdir()
    text = "\n".join(["x,z,source,class", *rows])
    (tmp_path / "multi-source" / "made.csv").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_sources_and_classes_have_numbers_in_the_order_of_their_names(folder):
    found = source_set("made", folder)
    assert found.names == ("m", "n")
    assert found.sources[:2].tolist() == [1, 0]
    assert found.labels[:4].tolist() == [0, 0, 1, 1]
    assert found.data.feature_names == ("x", "z")


def test_a_split_has_all_pairs_and_no_gaps(folder):
    task = known_task(source_set("made", folder), 0)
    assert (len(task.train.y), len(task.test.y)) == (24, 56)
    pairs = 2 * task.train.sources + task.train.y
    assert np.bincount(pairs).tolist() == [6, 6, 6, 6]
    assert np.isfinite(task.train.X).all()
    assert np.isfinite(task.test.X).all()


def test_what_is_not_there_is_said(folder, tmp_path):
    assert len(set_print("made", folder)) == 16
    with pytest.raises(ValueError, match=r"no file multi-source/other.csv"):
        set_print("other", folder)
