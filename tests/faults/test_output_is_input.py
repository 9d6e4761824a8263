"""An output that is an input, another output or a file of another kind is refused."""

import os
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.persistence import load
from ensemblage.studies import predict
from faults.conftest import SITE_ROWS, SITE_STUDY

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and devices of POSIX")

TARGET = ["-t", "y"]
TABLE = ["reproduce", "hiss-table2", "--quick", "--data-dir", "data"]
# Command, option of the output, inputs, and the suffix that the option asks for.
OUTPUTS = [
    (["fit", "rows.csv", *TARGET, "-m", "majority"], "--output", ["rows.csv"], ""),
    (["compare", "rows.csv", *TARGET, "-m", "majority"], "--output", ["rows.csv"], ""),
    (["compare", "rows.csv", *TARGET, "-m", "majority"], "--report", ["rows.csv"], ".html"),
    (["compare", "rows.csv", *TARGET, "-m", "majority"], "--results", ["rows.csv"], ""),
    (["compare", "ecoli", "--data-dir", "data", "-m", "majority"], "-o", ["data/ecoli.csv"], ""),
    (["predict", "model.skops", "rows.csv"], "--output", ["rows.csv", "model.skops"], ""),
    (["explain", "model.skops", "rows.csv"], "--output", ["rows.csv", "model.skops"], ".png"),
    (["explain", "model.skops", "rows.csv"], "--report", ["rows.csv", "model.skops"], ".html"),
    (["audit", "rows.csv", *TARGET, "--source", "site"], "--report", ["rows.csv"], ".html"),
    (["cluster", "rows.csv", "-k", "2"], "--output", ["rows.csv"], ""),
    (["cluster", "rows.csv", "-k", "2"], "--report", ["rows.csv"], ".html"),
    (["run", "study.toml"], "--export", ["rows.csv", "study.toml"], ".csv"),
    (["run", "study.toml"], "--report", ["rows.csv", "study.toml"], ".html"),
    (["run", "study.toml"], "--results", ["rows.csv", "study.toml"], ""),
    (TABLE, "--export", ["data/ecoli.csv"], ".csv"),
    (TABLE, "--report", ["data/ecoli.csv"], ".html"),
    (TABLE, "--results", ["data/ecoli.csv"], ""),
]  # fmt: skip
SPELLINGS = {
    "same": lambda path, _: path,
    "dot": lambda path, _: f"./{path}",
    "up": lambda path, _: f"data/../{path}",
    "absolute": lambda path, _: os.path.abspath(path),  # noqa: PTH100  as typed
    "folder link": lambda path, _: f"here/{path}",
    "link": lambda path, suffix: linked(os.symlink, path, suffix),
    "link of link": lambda path, suffix: linked(os.symlink, linked(os.symlink, path, ""), suffix),
    "hard link": lambda path, suffix: linked(os.link, path, suffix),
}
CASES = [
    pytest.param(command, option, path, suffix, spelling, id=f"{command[0]}{option} {path} {name}")
    for (command, option, inputs, suffix), (name, spelling) in product(OUTPUTS, SPELLINGS.items())
    for path in inputs
    if path.endswith(suffix) or name in {"link", "link of link", "hard link"}
]


def linked(link, path, suffix):
    name = f"{len(os.listdir())}{suffix or '.link'}"  # noqa: PTH208
    link(Path(path).absolute(), name)
    return name


@pytest.fixture
def folder(tmp_path, monkeypatch, site_model):
    """A folder with a file of every kind that commands read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    (tmp_path / "rows.csv").write_text(SITE_ROWS, encoding="utf-8")
    (tmp_path / "study.toml").write_text(SITE_STUDY, encoding="utf-8")
    (tmp_path / "model.skops").write_bytes(site_model)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ecoli.csv").write_text(SITE_ROWS, encoding="utf-8")
    (tmp_path / "here").symlink_to(tmp_path, target_is_directory=True)
    return tmp_path


def call(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "-j", "1"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, done.stderr


def contents(folder):
    return {each: each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def refused(folder, *arguments):
    """Run a command that is refused and changes no file; give its sentence."""
    before = contents(folder)
    code, errors = call(*arguments)
    assert contents(folder) == before
    assert code == 2, errors
    assert errors.startswith("Error: ")
    assert errors.count("\n") == 1
    return errors


@pytest.mark.parametrize(("command", "option", "path", "suffix", "spelling"), CASES)
def test_an_input_is_not_replaced(folder, command, option, path, suffix, spelling):
    output = spelling(path, suffix)
    assert f"{Path(output)} is also an input" in refused(folder, *command, option, output)


def test_an_input_in_other_case_is_not_replaced(folder):
    if not (folder / "ROWS.CSV").exists():
        pytest.skip("upper and lower case differ on this file system")
    assert "is also an input" in refused(folder, "cluster", "rows.csv", "-o", "ROWS.CSV")


def test_predict_does_not_replace_its_rows(folder):
    with pytest.raises(ValueError, match="is also the file to predict"):
        predict(load("model.skops"), "rows.csv", folder / "rows.csv")
    assert (folder / "rows.csv").read_text(encoding="utf-8") == SITE_ROWS


def test_force_does_not_replace_an_input(folder):
    assert "is also an input" in refused(
        folder, "predict", "model.skops", "rows.csv", "--force", "-o", "rows.csv"
    )


def test_a_dataset_in_the_folder_of_datasets_is_an_input(folder, monkeypatch):
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(folder / "data"))
    said = refused(folder, "fit", "ecoli", "-m", "majority", "-o", "data/ecoli.csv")
    assert "data/ecoli.csv is also an input" in said


def test_a_file_on_standard_input_is_an_input(folder):
    program = [sys.executable, "-m", "ensemblage", "cluster", "-", "-k", "2", "-o", "rows.csv"]
    with (folder / "rows.csv").open("rb") as file:
        done = subprocess.run(program, stdin=file, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --output rows.csv is also an input")
    assert (folder / "rows.csv").read_text(encoding="utf-8") == SITE_ROWS


@pytest.mark.parametrize(
    ("command", "one", "other", "exists"),
    [
        (["compare", "rows.csv", *TARGET, "-m", "majority"], "--output", "--report", False),
        (["compare", "rows.csv", *TARGET, "-m", "majority"], "--output", "--report", True),
        (["compare", "rows.csv", *TARGET, "-m", "majority"], "--report", "--results", False),
        (["cluster", "rows.csv", "-k", "2"], "--output", "--report", False),
        (["run", "study.toml"], "--report", "--results", False),
        (TABLE, "--report", "--results", False),
    ],
)
def test_two_outputs_are_two_files(folder, command, one, other, exists):
    if exists:
        (folder / "new.html").touch()
    said = refused(folder, *command, one, "new.html", other, "data/../new.html")
    assert f"{one} new.html and {other} data/../new.html are the same file" in said
    (folder / "link.html").symlink_to("new.html")
    assert "are the same file" in refused(folder, *command, one, "link.html", other, "new.html")


KINDS = {
    "text": b"a,b\n1,2\n",
    "notes": "Zürich\tnotes\n".encode("latin-1"),
    "page": b"<!DOCTYPE html>\n<html></html>",
    "page with mark": b"\xef\xbb\xbf\n<HTML>",
    "figure": b"\x89PNG\r\n\x1a\n\0\0",
    "drawing": b'<?xml version="1.0"?>\n<svg></svg>',
    "document": b"%PDF-1.7\n",
    "parquet": b"PAR1\0PAR1",
    "results": b"SQLite format 3\0...",
    "spreadsheet": b"PK\3\4...xl/workbook.xml",
    "archive": b"\x1f\x8b\x08...",
}
REPLACED = [
    (["fit", "rows.csv", *TARGET, "-m", "majority"], "out.skops", set()),
    (["predict", "model.skops", "rows.csv"], "out.csv", {"text", "notes"}),
    (["predict", "model.skops", "rows.csv"], "out.parquet", {"parquet"}),
    (["explain", "model.skops", "rows.csv"], "out.png", {"figure", "drawing", "document"}),
    (["explain", "model.skops", "rows.csv"], "out.html", {"page", "page with mark"}),
]


@pytest.mark.parametrize("kind", [*KINDS, "model"])
@pytest.mark.parametrize(("command", "name", "same"), REPLACED, ids=[each[1] for each in REPLACED])
def test_a_file_of_another_kind_is_replaced_with_force_only(
    folder, site_model, command, name, same, kind
):
    path = folder / name
    path.write_bytes(KINDS.get(kind, site_model))
    if kind in same or (kind == "model" and name == "out.skops"):
        code, errors = call(*command, "-o", name)
        assert code == 0, errors
        return
    said = refused(folder, *command, "-o", name)
    assert f" {name} exists and is " in said
    assert "--force" in said


def test_force_replaces_a_file_of_another_kind(folder):
    (folder / "out.csv").write_bytes(KINDS["page"])
    assert call("predict", "model.skops", "rows.csv", "-o", "out.csv", "--force")[0] == 0
    assert (folder / "out.csv").read_bytes().startswith(b"prediction,")


@pytest.mark.parametrize("command", ["run", "reproduce", "audit", "cluster", "compare"])
def test_pages_and_exports_of_another_kind(folder, command):
    arguments = next(each for each, *_ in OUTPUTS if each[0] == command)
    (folder / "page.html").write_text("my notes", encoding="utf-8")
    said = refused(folder, *arguments, "--report", "page.html")
    assert "--report page.html exists and is text such as CSV, not an HTML page" in said
    if command in {"run", "reproduce"}:
        (folder / "cells.parquet").write_bytes(KINDS["text"])
        assert "not a Parquet file" in refused(folder, *arguments, "--export", "cells.parquet")


def test_empty_files_devices_and_pipes_are_written(folder):
    (folder / "out.csv").touch()
    os.mkfifo("pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((folder / "pipe").read_bytes()))
    reader.start()
    for output in ("out.csv", "pipe", "/dev/null"):
        code, errors = call("predict", "model.skops", "rows.csv", "-o", output)
        assert code == 0, errors
    reader.join()
    assert found == [(folder / "out.csv").read_bytes()]


def test_standard_output_as_a_file(folder):
    program = [sys.executable, "-m", "ensemblage", "predict", "model.skops", "rows.csv"]
    with (folder / "out.csv").open("wb") as file:
        subprocess.run([*program, "-o", "/dev/stdout"], stdout=file, check=True)
    assert call("predict", "model.skops", "rows.csv", "-o", "other.csv")[0] == 0
    assert (folder / "out.csv").read_bytes() == (folder / "other.csv").read_bytes()
