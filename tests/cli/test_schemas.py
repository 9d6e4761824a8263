"""The output of ``--json`` is valid by docs/schemas, and exit codes are those of the guide."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from ensemblage.cli import app

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
COMMANDS = {command.name for command in app.registered_commands}
STUDY = """
name = "study"
folds = 2

[[datasets]]
name = "iris"

[[methods]]
name = "majority"

[[methods]]
name = "logistic"
"""


def read_schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def checked(run):
    """Run a command and give its JSON, checked against its schema."""

    def call(command, *arguments, code=0):
        result = run(command, *arguments, "--json")
        assert result.exit_code == code, result.output
        value = json.loads(result.stdout, parse_constant=pytest.fail)
        jsonschema.validate(value, read_schema(command), cls=jsonschema.Draft202012Validator)
        return value

    return call


def test_schemas_are_current():
    script = SCHEMAS.parent / "schemas.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_a_schema():
    assert {path.stem for path in SCHEMAS.glob("*.json")} == COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_schemas_are_schemas(name):
    schema = read_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == f"ensemblage {name} --json"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_schema_refuses_something(name):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"surprise": 1}, read_schema(name))


def test_datasets(checked, table_file):
    names = {each["name"] for each in checked("datasets", "--data-dir", table_file.parent)}
    assert {"people", "iris"} <= names


def test_doctor(checked):
    assert checked("doctor")["healthy"]


def test_compare(checked, table_file):
    chosen = ["-m", "majority", "-m", "svm", "-m", "logistic"]
    facts = checked("compare", table_file, "-t", "class", *chosen, "-j", 1, "--quick")
    assert facts["choice"]["sentence"] == facts["verdict"]
    assert facts["quick"]
    assert facts["n_splits"] == 3


def test_compare_of_one_method_chooses_nothing(checked, table_file):
    facts = checked("compare", table_file, "-t", "class", "-m", "majority", "-j", 1)
    assert facts["choice"] is None


def test_fit_and_predict(checked, table_file):
    for method, sure in (("logistic", True), ("svm", False)):
        checked(
            "fit", table_file, "-t", "class", "-m", method, "-o", "m.skops", "-j", 1, "--folds", 2
        )
        facts = checked("predict", "m.skops", table_file)
        assert (facts["probabilities"] is not None) == sure
    assert checked("predict", "m.skops", table_file, "-o", "out.csv")["output"] == "out.csv"


def test_cluster(checked, table_file):
    facts = checked("cluster", table_file, "-k", 2, "-t", "class")
    assert set(facts["scores"]) == {"nmi", "purity"}
    assert (
        checked("cluster", table_file, "-k", 2, "-m", "average", "-o", "l.csv")["agreement"] is None
    )


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
@pytest.mark.parametrize(
    ("method", "key"), [("strata", "members"), ("bayesnet", "parents"), ("subspace", "features")]
)
def test_explain(checked, table_file, method, key):
    chosen = ["-t", "class", "-m", method, "-j", 1, "--folds", 2]
    checked("fit", table_file, *chosen, "-o", "m.skops")
    assert key in checked("explain", "m.skops")
    if method == "strata":
        assert checked("explain", "m.skops", table_file)["rows"] == "given"
        assert checked("explain", "m.skops", table_file, "--row", 3)["row"] == 3


def test_run(checked, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    facts = checked("run", "study.toml", "-j", 1)
    assert facts["cells"] == {"total": 4, "done": 4, "failed": 0}
    assert facts["finished"]


def test_reproduce(checked):
    facts = checked("reproduce", "joint-figure1", "--quick", "--budget", "2s", "-j", 1)
    assert facts["experiment"] == "joint-figure1"
    assert facts["scale"] == "quick"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["datasets"], 0),
        (["compare", "absent.csv", "-t", "x", "--json"], 1),
        (["predict", "absent.skops", "absent.csv", "--json"], 1),
        (["explain", "absent.skops", "--json"], 1),
        (["cluster", "absent.csv", "-k", "2", "--json"], 1),
        (["run", "absent.toml", "--json"], (1, 2)),
        (["fit", "iris", "--json"], 2),
        (["compare", "iris", "-m", "no-such-method", "--json"], 2),
        (["reproduce", "no-such-table", "--json"], 2),
        (["no-such-command"], 2),
    ],
)
def test_exit_codes(tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (code if isinstance(code, tuple) else (code,))
    if code != 0:
        # a program that reads JSON gets JSON or nothing
        assert result.stdout == ""
        assert result.stderr != ""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_command_exits_with_130(tmp_path):
    command = [sys.executable, "-m", "ensemblage", "compare", "--repeats", "500", "-j", "1"]
    process = subprocess.Popen(
        [*command, "--json"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert "bundled dataset" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert output == ""
