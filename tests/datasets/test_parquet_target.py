"""A target read alone beside the same one of the whole table."""

import numpy as np
import pytest

from ensemblage.datasets import Dataset, numeric_columns, read_parquet_target, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 200
TARGETS = ["words", "whole", "few", "nans", "real", "truth", "category", "codes", "texts", "many"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)

    def gappy(values):
        return pa.array([None if rng.random() < 0.1 else value for value in values.tolist()])

    table = pa.table({
        "x": rng.normal(size=N_ROWS),
        "words": gappy(rng.choice(["a", " b", "NA", "c"], N_ROWS)),
        "whole": gappy(rng.integers(3, size=N_ROWS)),
        "few": gappy(rng.integers(4, size=N_ROWS) * 1.0),
        "nans": [float("nan") if i % 7 == 0 else float(i % 3) for i in range(N_ROWS)],
        "real": gappy(rng.normal(size=N_ROWS)),
        "truth": gappy(rng.random(N_ROWS) < 0.3),
        "category": gappy(rng.choice(["x", "y"], N_ROWS)).dictionary_encode(),
        "codes": gappy(rng.integers(3, size=N_ROWS)).dictionary_encode(),
        "texts": [str(i / 7) for i in range(N_ROWS)],
        "many": rng.integers(1000, size=N_ROWS),
        "same": ["always"] * N_ROWS,
    })  # fmt: skip
    path = tmp_path_factory.mktemp("target") / "rows.parquet"
    parquet.write_table(table, path, row_group_size=50)
    return path


def whole(path, target, task):
    dataset = Dataset.from_table(
        read_table(path, kinds={target: "numeric_or_label"}), target, task=task
    )
    return dataset.task, dataset.y.tolist(), dataset.task_reason


def alone(path, target, task):
    found = read_parquet_target(path, target, task)
    values = found.values[found.known]
    y = np.array(found.classes)[values] if found.classes else values
    return found.task, y.tolist(), found.reason


def said_by(read, *arguments):
    try:
        return read(*arguments)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("task", [None, "classification", "regression"])
@pytest.mark.parametrize("target", TARGETS)
def test_it_is_what_the_whole_table_gives(path, target, task):
    assert said_by(alone, path, target, task) == said_by(whole, path, target, task)


def test_what_cannot_be_predicted_is_refused(path, tmp_path):
    with pytest.raises(ValueError, match="'same' has only one class, 'always'"):
        read_parquet_target(path, "same")
    infinite = pa.table({"far": [float("inf"), *range(N_ROWS)]})
    parquet.write_table(infinite, tmp_path / "infinite.parquet")
    with pytest.raises(ValueError, match="The target column 'far' holds inf; numbers beyond"):
        read_parquet_target(tmp_path / "infinite.parquet", "far")
    with pytest.raises(ValueError, match="`task`='classes' is not known"):
        read_parquet_target(path, "words", "classes")
    (tmp_path / "broken.parquet").write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        ValueError, match=r"broken\.parquet is not a Parquet file, or it is damaged"
    ):
        read_parquet_target(tmp_path / "broken.parquet", "words")


def test_columns_of_numbers_are_named_and_others_refused(path):
    words = [name for name in TARGETS if name not in {"whole", "few", "nans", "real", "many"}]
    found = numeric_columns(path, "same", words)
    assert found == ["x", "whole", "few", "nans", "real", "many"]
    with pytest.raises(ValueError, match=r"these are none: 'words' \(string\), 'truth' \(bool\)"):
        numeric_columns(path, "same", [name for name in words if name not in {"words", "truth"}])
    with pytest.raises(ValueError, match=r"There is no target column 'sam'\. Did you mean 'same'"):
        numeric_columns(path, "sam")
    with pytest.raises(ValueError, match=r"There is no column 'word'\. Did you mean 'words'"):
        numeric_columns(path, "same", ["word"])
    with pytest.raises(ValueError, match="There is no column beside the target 'x'"):
        numeric_columns(path, "x", [*TARGETS, "same"])
