import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.report import render
from ensemblage.report._blocks import Bar, BarsBlock, Page, RanksBlock, Section
from ensemblage.report._html import bar_axis, rank_axis
from report.documents import comparison, entry, experiment, method, table

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}'
numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


def axis_of(*values, **options):
    return bar_axis(BarsBlock([Bar("a", value, "") for value in values], "", **options))


def test_bars_start_at_zero_if_the_values_come_near_it():
    axis = axis_of(0.08, 0.31)
    assert axis.bars
    assert axis.ticks == (0.0, 0.1, 0.2, 0.3, 0.4)
    assert [axis.label(tick) for tick in axis.ticks] == ["0.0", "0.1", "0.2", "0.3", "0.4"]
    assert axis.place(0.1) == "25"


def test_points_on_a_range_otherwise():
    axis = axis_of(0.93, 0.98)
    assert not axis.bars
    assert (axis.low, axis.high) == (0.93, 0.98)
    assert axis.label(axis.low) == "0.93"


def test_counts_start_at_zero_whatever_they_are():
    assert axis_of(95, 98, from_zero=True).low == 0


def test_shares_are_written_in_per_cent():
    axis = axis_of(0.1, 1.0, percent=True)
    assert [axis.label(tick) for tick in axis.ticks] == ["0%", "20%", "40%", "60%", "80%", "100%"]


def test_errors_and_references_are_on_the_axis():
    bar = Bar("a", 0.5, "", error=0.2, reference=1.4)
    axis = bar_axis(BarsBlock([bar, Bar("b", None, "failed")], ""))
    assert axis.low <= 0.3
    assert axis.high >= 1.4


def test_differences_have_zero_on_the_axis_and_room_for_their_errors():
    bars = [Bar("a", 0.02, "", error=0.05), Bar("b", 0.04, "", error=0.01)]
    axis = bar_axis(BarsBlock(bars, "", signed=True))
    assert not axis.bars
    assert axis.low <= -0.03
    assert axis.high >= 0.07
    assert axis_of(0.2, 0.3, signed=True).low == 0.0
    assert axis_of(-0.3, -0.2, signed=True).high == 0.0


@pytest.mark.parametrize("values", [(), (None,), (0.0,), (7.0, 7.0), (-3.0,)])
def test_there_is_an_axis_for_next_to_nothing(values):
    axis = axis_of(*values)
    assert axis.low < axis.high


@given(st.lists(numbers, min_size=1, max_size=20))
def test_every_value_is_on_the_axis_and_ticks_ascend(values):
    axis = axis_of(*values)
    slack = 1e-6 * (axis.high - axis.low)
    assert axis.low - slack <= min(values)
    assert axis.high + slack >= max(values)
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert 2 <= len(axis.ticks) <= 7
    assert all(0 <= float(axis.place(value)) <= 100 for value in values)
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_ranks_run_from_one_to_the_last_and_not_every_one_is_written():
    few = RanksBlock([Bar("a", 1.0, "1.00")] * 3, [[]] * 3, 1.0, "", "")
    assert rank_axis(few).ticks == (1.0, 2.0, 3.0)
    many = RanksBlock([Bar("a", 1.0, "1.00")] * 30, [[]] * 30, 1.0, "", "")
    assert rank_axis(many).ticks == (1, 4, 7, 10, 13, 16, 19, 22, 25, 28)
    assert rank_axis(many).place(30) == "100"


def test_differences_without_errors_are_bars_from_zero_to_both_sides():
    axis = axis_of(-1.0, 3.0, signed=True)
    assert axis.bars
    assert axis.ticks == (-1.0, 0.0, 1.0, 2.0, 3.0)
    assert (axis.span(-1.0), axis.span(3.0)) == (("0", "25"), ("25", "75"))
    errors = BarsBlock([Bar("a", 1.0, "", error=0.5)], "", signed=True)
    assert not bar_axis(errors).bars


def test_shares_end_at_one_whatever_their_errors():
    bars = [Bar("a", 1.0, "100%", error=0.02), Bar("b", 0.6, "60%")]
    assert bar_axis(BarsBlock(bars, "", percent=True, from_zero=True)).high == 1.0
    bars.append(Bar("c", 1.2, "120%"))
    assert bar_axis(BarsBlock(bars, "", percent=True, from_zero=True)).high > 1.0


def test_long_texts_at_the_ends_stay_inside():
    axis = bar_axis(BarsBlock([Bar("a", 180000.0, "180000"), Bar("b", 100000.0, "100000")], ""))
    assert [axis.anchor(tick) for tick in axis.ticks][-1] == "end"
    assert axis.anchor(axis.ticks[1]) == "middle"
    shares = bar_axis(BarsBlock([Bar("a", 0.5, "50%")], "", percent=True, from_zero=True))
    assert {shares.anchor(tick) for tick in shares.ticks} == {"middle"}


def hostile_results():
    methods = [
        {**method("a", [0.9, 0.8]), "label": HOSTILE, "warnings": {HOSTILE: 1}},
        {**method("b", [0.5, 0.6]), "label": HOSTILE + "b", "failures": {0: HOSTILE}},
    ]
    rows = [entry(HOSTILE + str(i), HOSTILE + str(j), 0.5, 0.4, note=HOSTILE)
            for i in range(3) for j in range(3)]  # fmt: skip
    hostile = table(rows, notes=[HOSTILE], summary=[HOSTILE])
    hostile |= {"title": HOSTILE, "measure": HOSTILE}
    document = experiment(hostile, hostile, title=HOSTILE, experiment=HOSTILE, scale=HOSTILE)
    return {
        "comparison": comparison(*methods, dataset=HOSTILE),
        "experiment": document,
    }


class Reader(HTMLParser):
    """Tags and their attributes, ids, headings."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]


@pytest.fixture(scope="module", params=["comparison", "experiment"])
def text(request):
    return render(hostile_results()[request.param])


def test_hostile_text_is_escaped(text):
    reader = Reader(text)
    assert reader.tags.count("script") == 1
    assert reader.tags.count("style") == 1
    assert "img" not in reader.tags
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    assert "{{ 7 * 7 }}" in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_nothing_comes_from_elsewhere(text):
    reader = Reader(text)
    links = [value for _, name, value in reader.attributes if name in {"href", "src", "xlink:href"}]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\((?!#)", text)
    assert "http://" not in text
    assert "https://" not in text


def test_the_policy_allows_this_script_and_this_style_alone(text):
    reader = Reader(text)
    (policy,) = [v for tag, name, v in reader.attributes if tag == "meta" and "default-src" in v]
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"(?s)<{tag}>(.*?)</{tag}>", text)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not [tag for tag, name, _ in reader.attributes if name == "style"]


def test_readers_of_all_kinds_find_their_way(text):
    reader = Reader(text)
    assert ("html", "lang", "en") in reader.attributes
    headings = [int(tag[1]) for tag in reader.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(headings))
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert ("a", "href", "#content") in reader.attributes
    assert "content" in ids
    named = [value for tag, name, value in reader.attributes if name == "aria-label"]
    assert all(named)
    assert reader.tags.count("table") == reader.tags.count("caption")
    assert reader.tags.count("figure") == reader.tags.count("figcaption")


def test_the_same_result_has_the_same_bytes(text):
    assert text in {render(result) for result in hostile_results().values()}


def luminance(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * each for each in colour[1:])
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_sufficient_in_both_themes():
    css = files("ensemblage.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block))
        for block in re.findall(r"\{[^{}]*--paper:[^{}]*\}", css)
    ]
    assert len(themes) == 4
    assert themes[1] == themes[2]  # the system's dark and the button's
    for theme in themes:
        for ink in ("ink", "quiet", "accent", "warm"):
            assert contrast(theme[ink], theme["paper"]) >= 4.5
            assert contrast(theme[ink], theme["raised"]) >= 4.5
        assert contrast(theme["best"], theme["best-soft"]) >= 4.5
        assert contrast(theme["quiet"], theme["best-soft"]) >= 4.5
        assert contrast(theme["ink"], theme["soft"]) >= 4.5


def test_the_error_of_a_share_is_in_per_cent_too():
    bars = [Bar("a", 0.65, "65.0%", error=0.081), Bar("b", 12.5, "12.50", error=1.234)]
    block = BarsBlock(bars, "Bars.", from_zero=True)
    text = render(Page("T", "t", [], {}, [Section("S", [block])]))
    assert "\N{PLUS-MINUS SIGN} 8.1%</span>" in text
    assert "\N{PLUS-MINUS SIGN} 1.23</span>" in text


def test_no_line_ends_inside_a_number():
    sentences = ["Wilcoxon p = 3.4e-05, not well-kept", "a gain of 0.21 ± 0.23"]
    page = render(Page("t", "t", sentences, {}, []))
    space = "\N{NO-BREAK SPACE}"
    assert f"p{space}={space}3.4e\N{NON-BREAKING HYPHEN}05, not well-kept" in page
    assert f"0.21 ±{space}0.23" in page


def test_all_lines_of_a_rank_figure_have_one_scale():
    ties = [(True, False, False), (True, True, False), (False, True, True), (False, False, True)]
    methods = [Bar(name, rank, f"{rank:.2f}") for rank, name in enumerate("abcd", start=1)]
    page = render(Page("t", "t", [], {}, [Section("s", [RanksBlock(methods, ties, 1.5, "", "")])]))
    found = re.findall(r'<span class="ties">(.*?)</span>', page)
    # the critical difference, four methods, and the axis
    assert [each.count("</i>") for each in found] == [3] * 6
    # on a phone, the bars at the side stand beside the scale
    assert page.index(".bars svg { grid-column: 1 / -1;") < page.index(
        ".bars.ranks svg { grid-column: 1 / span 2; }"
    )


def test_what_has_no_report_is_refused():
    with pytest.raises(TypeError, match="type dict has no report; give an Explanation"):
        render({})
