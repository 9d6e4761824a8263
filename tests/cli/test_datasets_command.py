"""``ensemblage datasets``."""

import json


def test_datasets(run, table_file):
    result = run("datasets", "--data-dir", table_file.parent)
    assert result.exit_code == 0
    assert "people" in result.stdout
    assert "OpenML 54" in result.stdout
    facts = {each["name"]: each for each in json.loads(run("datasets", "--json").stdout)}
    assert facts["digits"] == {
        "name": "digits", "n_rows": 1797, "n_features": 64, "at_hand": True,
        "origin": "scikit-learn",
    }  # fmt: skip
