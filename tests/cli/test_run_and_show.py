"""How a run is shown, and how it ends."""

import json


def test_if_every_cell_failed_so_did_the_run(run, papers):
    papers.cells, papers.special = 1, {"x0": {"do": "fail"}}
    result = run("reproduce", "hiss-table2", "-j", 1)
    assert result.exit_code == 1
    assert "all 1 cells failed; the first said: RuntimeError: x is 0" in result.stderr
    assert "--retry-failed" in result.stderr


def test_a_budget_stops_and_says_how_to_go_on(run, papers):
    papers.cells = 40
    papers.special = {f"x{x}": {"sleep": 0.3} for x in range(40)}
    shown = run("reproduce", "inner-table1", "-j", 1, "--budget", "3s", "--json")
    assert shown.exit_code == 0
    facts = json.loads(shown.stdout)
    assert facts["finished"] is False
    done = facts["cells"]["done"]
    assert 0 < done < 40
    assert f"Stopped by the budget after {done} of 40 cells; run the same command" in shown.stderr


def test_a_screen_gets_a_bar_with_the_time_left(on_screen, study):
    shown, output = on_screen("-m", "ensemblage.cli", "run", study.name, "--jobs", "1", "--json")
    assert "Running study" in shown
    assert "time left" in shown
    assert json.loads(output)["finished"] is True
