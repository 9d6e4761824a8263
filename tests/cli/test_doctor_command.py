from ensemblage.methods import _doctor


def test_it_shows_what_there_is(run):
    result = run("doctor")
    assert result.exit_code == 0
    assert "scikit-learn" in result.stdout
    assert 'pip install "ensemblage[report]"' in result.stdout
    assert result.stdout.rstrip().endswith("All is well.")


def test_it_fails_when_something_is_wrong(run, monkeypatch):
    def bad():
        raise ArithmeticError("2 and 2 are 5")

    monkeypatch.setattr(_doctor, "TESTS", {"add": bad})
    result = run("doctor")
    assert result.exit_code == 1
    assert "add: ArithmeticError: 2 and 2 are 5" in result.stdout
    assert result.stdout.rstrip().endswith("Something is wrong: see above.")
