"""Commands on files that are not plain CSV, and on the file that a model was trained on."""

import pytest


@pytest.fixture
def german(tmp_path):
    """A file with an identifier, two sites, dates and decimal commas, in Windows-1252."""
    lines = ["id;site;admitted;größe;job;class"]
    for i in range(40):
        size = f"{i % 2 * 3 + i % 5}.{i % 10}5".replace(".", ",")
        job = ("Köchin", "smith", "")[i % 3]
        lines.append(f"{i};{'AB'[i % 4 // 2]};{i % 28 + 1:02}.03.2021;{size};{job};{'ny'[i % 2]}")
    path = tmp_path / "people.csv"
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    return path


def test_a_model_predicts_the_file_that_it_was_trained_on(run, german):
    fitted = run(
        "fit", german, "-t", "class", "-m", "bayesnet", "--drop", "id", "--source", "site",
        "-o", "m.skops", "-j", 1, "--folds", 2,
    )  # fmt: skip
    assert fitted.exit_code == 0
    assert "decimal mark ',' and encoding Latin-1." in fitted.stderr
    assert "'admitted' contains dates (day first)" in fitted.stderr
    predicted = run("predict", "m.skops", german)
    assert predicted.exit_code == 0
    assert predicted.stdout.count("\n") == 41
    assert "Columns ignored, as in training: 'id', 'site'." in predicted.stderr


def test_what_was_found_out_can_be_overruled(run, german):
    options = ("--read", "dates=text", "--read", "encoding=latin-1")
    found = run("cluster", german, "-k", 2, "-t", "class", "--drop", "id", *options)
    assert found.exit_code == 0
    assert "holds dates" not in found.stderr
    unknown = run("cluster", german, "-k", 2, "--read", "decimals=,")
    assert unknown.exit_code == 2
    assert "Did you mean 'decimal'?" in " ".join(unknown.stderr.replace("│", " ").split())


def test_notes_speak_of_options(run, tmp_path):
    rows = "\n".join(f"0{i % 9 + 1}/0{i % 5 + 1}/2021,{i},{'yn'[i % 2]}" for i in range(20))
    (tmp_path / "dates.csv").write_text(f"seen,size,class\n{rows}\n", encoding="utf-8")
    found = run("cluster", "dates.csv", "-k", 2, "-t", "class")
    assert "To change this, set --read dates=ORDER." in " ".join(found.stderr.split())
