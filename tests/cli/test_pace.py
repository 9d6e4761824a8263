"""Times in words, and words as times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.cli import _pace
from ensemblage.cli._pace import Pace, in_words, parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1d", 86400), ("45", 45),
     ("0.5m", 30), (" 10 M ", 600)],
)  # fmt: skip
def test_times_are_read(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "ten", "0s", "-5m", "10m!", "1e3", "m10"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="is no time; write 90s, 10m, 2h or 1h30m"):
        parse_time(text)


@given(st.integers(0, 40), st.integers(0, 59), st.integers(1, 59))
def test_hours_minutes_seconds_add_up(hours, minutes, seconds):
    assert parse_time(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


def test_times_in_words():
    assert [in_words(each) for each in (4, 89, 240, 7800)] == ["4 s", "89 s", "4 min", "2 h 10 min"]


def test_the_pace_does_not_count_what_was_there_before(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_pace.time, "monotonic", lambda: now[0])
    pace = Pace()
    assert pace.line(100, 200) == "100 of 200"
    now[0] = 100.0
    # ten cells in 100 seconds, 90 to go
    assert pace.line(110, 200) == "110 of 200, about 15 min left"
