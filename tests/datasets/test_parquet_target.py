"""A target read alone equals that of the whole table."""

import numpy as np
import pytest

from ensemblage.datasets import Dataset, numeric_columns, read_parquet_target, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 200
TARGETS = ["text", "whole", "few", "nans", "real", "boolean", "category", "codes", "digits", "many"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)

    def with_missing(values):
        return pa.array([None if rng.random() < 0.1 else value for value in values.tolist()])

    table = pa.table({
        "x": rng.normal(size=N_ROWS),
        "text": with_missing(rng.choice(["a", " b", "NA", "c"], N_ROWS)),
        "whole": with_missing(rng.integers(3, size=N_ROWS)),
        "few": with_missing(rng.integers(4, size=N_ROWS) * 1.0),
        "nans": [float("nan") if i % 7 == 0 else float(i % 3) for i in range(N_ROWS)],
        "real": with_missing(rng.normal(size=N_ROWS)),
        "boolean": with_missing(rng.random(N_ROWS) < 0.3),
        "category": with_missing(rng.choice(["x", "y"], N_ROWS)).dictionary_encode(),
        "codes": with_missing(rng.integers(3, size=N_ROWS)).dictionary_encode(),
        "digits": [str(i / 7) for i in range(N_ROWS)],
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


def value_or_message(read, *arguments):
    try:
        return read(*arguments)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("task", [None, "classification", "regression"])
@pytest.mark.parametrize("target", TARGETS)
def test_target_equals_that_of_the_whole_table(path, target, task):
    assert value_or_message(alone, path, target, task) == value_or_message(
        whole, path, target, task
    )


def test_invalid_targets_are_refused(path, tmp_path):
    with pytest.raises(ValueError, match="'same' has only one class, 'always'"):
        read_parquet_target(path, "same")
    infinite = pa.table({"far": [float("inf"), *range(N_ROWS)]})
    parquet.write_table(infinite, tmp_path / "infinite.parquet")
    with pytest.raises(ValueError, match="The target column 'far' contains inf; absolute values"):
        read_parquet_target(tmp_path / "infinite.parquet", "far")
    with pytest.raises(ValueError, match="`task`='classes' is unknown"):
        read_parquet_target(path, "text", "classes")
    (tmp_path / "broken.parquet").write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        ValueError, match=r"broken\.parquet is not a Parquet file, or it is damaged"
    ):
        read_parquet_target(tmp_path / "broken.parquet", "text")


def test_numeric_columns_are_returned_and_others_refused(path):
    others = [name for name in TARGETS if name not in {"whole", "few", "nans", "real", "many"}]
    found = numeric_columns(path, "same", others)
    assert found == ["x", "whole", "few", "nans", "real", "many"]
    with pytest.raises(ValueError, match=r"not numeric: 'text' \(string\), 'boolean' \(bool\)"):
        numeric_columns(path, "same", [name for name in others if name not in {"text", "boolean"}])
    with pytest.raises(ValueError, match=r"There is no target column 'sam'\. Did you mean 'same'"):
        numeric_columns(path, "sam")
    with pytest.raises(ValueError, match=r"There is no column 'txt'\. Did you mean 'text'"):
        numeric_columns(path, "same", ["txt"])
    with pytest.raises(ValueError, match="no features: the only column is the target 'x'"):
        numeric_columns(path, "x", [*TARGETS, "same"])
