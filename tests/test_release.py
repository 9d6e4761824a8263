"""What is written down in several places for a release agrees."""

import re
import tomllib
from pathlib import Path

import ensemblage

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_the_version_has_one_source():
    read = (ROOT / SETTINGS["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert f'\n__version__ = "{ensemblage.__version__}"\n' in read
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT


def test_citation_and_recipe_have_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"(?m)^version: (\S+)$", citation)[1] == ensemblage.__version__
    recipe = re.search(r'(?m)^  version: "(\S+)"$', RECIPE)[1]
    assert recipe == ensemblage.__version__.partition(".dev")[0]


def test_recipe_asks_for_what_the_wheel_asks_for():
    run = re.search(r"(?ms)^  run:\n(.*?)\n\n", RECIPE)[1]
    asked = {line.strip("- ").replace(" ", "") for line in run.splitlines()[1:]}
    assert asked == set(PROJECT["dependencies"])


def test_oldest_constraints_are_the_lower_bounds():
    text = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"(?m)^([\w-]+)==(\S+)", text))
    for each in PROJECT["dependencies"]:
        name, bound = each.split(">=")
        assert f"{oldest[name]}.".startswith(f"{bound}."), each


def test_classifiers_name_the_tested_versions():
    named = {each.rpartition(":: ")[2] for each in PROJECT["classifiers"] if ":: 3." in each}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tested = set(re.findall(r'"(3\.\d+)"', workflow))
    assert named == {"3.11", "3.12", "3.13", "3.14"}
    assert {min(tested), max(tested)} <= named
    assert PROJECT["requires-python"] == ">=3.11"
