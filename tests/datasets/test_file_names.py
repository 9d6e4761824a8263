import subprocess
import sys

import pytest

from ensemblage.datasets import check_file, names_file
from ensemblage.datasets._file_names import format_of


def test_suffix_before_gz_is_the_format(tmp_path):
    assert format_of(tmp_path / "a.ARFF.GZ") == "arff"
    assert format_of(tmp_path / "a.gz") is None
    assert format_of(tmp_path / "a") is None


def test_names_of_files_and_datasets():
    assert [names_file(each) for each in ("-", "a.csv", "a.tsv.gz", "no/iris")] == [True] * 4
    assert [names_file(each) for each in ("iris", "openml:61", "a.b")] == [False] * 3


def test_invalid_paths_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("")
    (tmp_path / "rows.json").write_text("")
    assert check_file(tmp_path / "rows.csv") == "text"
    with pytest.raises(ValueError, match=r"There is no file .*row\.csv\. Did you mean 'rows\.csv'"):
        check_file(tmp_path / "row.csv")
    with pytest.raises(ValueError, match=r"There is no folder .*nowhere either"):
        check_file(tmp_path / "nowhere" / "rows.csv")
    with pytest.raises(ValueError, match="is a folder"):
        check_file(tmp_path)
    with pytest.raises(ValueError, match=r"rows\.json has an unknown format"):
        check_file(tmp_path / "rows.json")


@pytest.mark.parametrize("command", ["fit absent.csv -o m.skops", "compare absent.csv"])
def test_missing_file_is_reported_before_imports(tmp_path, command):
    script = (
        "import sys; from ensemblage.cli import app\n"
        f"app({command.split()!r}, standalone_mode=False)\n"
    )
    checked = script.replace("app([", "code = app([") + (
        "print(code, sorted({'numpy', 'sklearn', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", checked], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "1 []"
    assert "There is no file absent.csv" in done.stderr
