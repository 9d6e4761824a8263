"""Pages of the real commands, opened in a real browser."""

import csv
import json
import random
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.report import render
from ensemblage.report._blocks import NetworkBlock, Page, Section
from report.documents import entry, experiment, large_experiment, table

COLUMN = "<script>alert(1)</script>"
LABEL = '"><img src=x onerror=alert(1)>'
FILE = "<b>rows & more.csv"
# text that each kind of page shows of the data
KINDS = {
    "compare": [FILE],
    "strata": [LABEL, FILE],
    "subspace": [COLUMN, FILE],
    "bayesnet": [COLUMN, LABEL, FILE],
    "inner-bayesnet": [COLUMN, LABEL, FILE],
    "tree": [LABEL, FILE],
    "cluster": [COLUMN, LABEL, FILE],
    "run": [COLUMN, LABEL, f"{LABEL} (n_views=2)"],
    "reproduce": ["joint-figure1"],
}


def write_rows(path):
    draw = random.Random(0)  # noqa: S311
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", COLUMN, "kind", "class"])
        for i in range(60):
            hostile = i % 3 == 0
            kind = LABEL if draw.random() < 0.8 else "plain"
            label = LABEL if hostile else "good"
            numbers = [f"{draw.gauss(3 * hostile, 1):.3f}" for _ in range(2)]
            writer.writerow([*numbers, kind, label])


def own_experiment(data):
    """Three datasets of one file, named to do harm as well; a JSON string is one of TOML too."""
    file = json.dumps(str(data))
    datasets = [
        f"[[datasets]]\nname = {json.dumps(name)}\nfile = {file}\ntarget = 'class'\n"
        for name in (COLUMN, LABEL, FILE)
    ]
    methods = (
        "[[methods]]\nname = 'majority'\n"
        f"[[methods]]\nname = 'bayesnet'\nlabel = {json.dumps(COLUMN)}\n"
        f"[[methods]]\nname = 'inner-bayesnet'\nlabel = {json.dumps(LABEL)}\n"
        "params = { n_views = [2, 3] }\n"
    )
    return f"name = 'own'\ntitle = {json.dumps(LABEL)}\nfolds = 2\n" + "".join(datasets) + methods


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each kind, of a file whose names and labels are meant to do harm."""
    folder = tmp_path_factory.mktemp("pages")
    data = folder / FILE
    write_rows(data)

    def run(*arguments):
        done = CliRunner().invoke(app, [str(each) for each in arguments])
        assert done.exit_code == 0, done.output

    paths = {kind: folder / f"{kind}.html" for kind in KINDS}
    some = ["-m", "majority", "-m", "logistic", "-m", "bayesnet"]
    run("compare", data, "-t", "class", *some, "-j", 1, "--report", paths["compare"])
    for kind in ("strata", "subspace", "bayesnet", "inner-bayesnet", "tree"):
        model = folder / f"{kind}.skops"
        run("fit", data, "-t", "class", "-m", kind, "--folds", 2, "-j", 1, "-o", model)
        rows = [data, "--row", 0] if kind == "strata" else []
        run("explain", model, *rows, "-o", paths[kind])
    run("cluster", data, "-k", 2, "-t", "class", "--report", paths["cluster"])
    (folder / "own.toml").write_text(own_experiment(data), encoding="utf-8")
    kept = ["-j", 1, "--results", folder / "results.sqlite"]
    run("run", folder / "own.toml", *kept, "--report", paths["run"])
    paper = ["joint-figure1", "--quick", "--budget", "1s"]
    run("reproduce", *paper, *kept, "--report", paths["reproduce"])
    return paths


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_quietly_and_shows_names_as_text(pages, open_tab, kind):
    for width, scheme in ((1280, "light"), (390, "dark")):
        tab = open_tab(width=width, scheme=scheme)
        page = tab.open(pages[kind])
        assert tab.messages == []
        assert tab.requests == [pages[kind].as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    # closed tables are text too
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    shown = page.inner_text("body")
    assert all(text in shown for text in KINDS[kind])
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert tab.messages == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_and_table_has_a_name(pages, open_tab, kind):
    page = open_tab().open(pages[kind])
    unnamed = page.evaluate(
        """() => Array.from(document.querySelectorAll(
             '[role=img], [role=region], table, figure, nav, section'))
           .filter((each) => !(each.getAttribute('aria-label') || each.querySelector('caption')
             || each.querySelector('figcaption') || each.getAttribute('aria-labelledby')))
           .map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    ids = page.evaluate("Array.from(document.querySelectorAll('[id]'), (each) => each.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("width", [1280, 390])
def test_the_differences_behind_the_verdict_are_there_and_whole(pages, open_tab, width):
    page = open_tab(width=width).open(pages["compare"])
    figure = page.locator("section", has=page.get_by_role("heading", name="Differences")).locator(
        "figure.bars"
    )
    assert figure.count() == 1
    lines = figure.locator("li:not(.group):not(.axis)")
    assert lines.count() == 2  # three methods, one of them the choice
    assert "significantly different" in figure.inner_text()
    for line in lines.all():
        assert "\N{PLUS-MINUS SIGN}" in line.inner_text()
        row = line.bounding_box()
        marks = line.locator("svg .dot, svg .error, svg .reference")
        assert marks.count() == 3
        for mark in marks.all():
            box = mark.bounding_box()
            assert row["x"] - 5 <= box["x"]
            assert box["x"] + box["width"] <= min(row["x"] + row["width"] + 5, width)
    for label in figure.locator(".axis text").all():
        box = label.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


# text wider than its box, names of nodes beyond theirs, figures that would have to be scrolled
CUT = """() => {
  const cut = [];
  const whole = "th, td, dt, dd, p, h1, h2, li, summary, figcaption, .name, .value, .title, figure";
  for (const each of document.querySelectorAll(whole)) {
    if (each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1
        && !each.classList.contains("unseen")) cut.push(each.outerHTML.slice(0, 120));
  }
  for (const node of document.querySelectorAll(".network .node")) {
    const box = node.querySelector("rect").getBoundingClientRect();
    for (const text of node.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      if (own.width && (own.left < box.left || own.right > box.right)) cut.push(text.textContent);
    }
  }
  return cut;
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_phone_nothing_is_cut_and_every_figure_is_whole(pages, open_tab, kind):
    page = open_tab(width=390).open(pages[kind])
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate(CUT) == []
    for figure in page.locator("figure").all():
        box = figure.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize("width", [1280, 390])
def test_a_network_of_sixty_long_names_is_whole(open_tab, tmp_path, width):
    names = [f"a column name that has forty letters {k:03d}" for k in range(58)]
    names += ["x" * 45, COLUMN]
    above = {name: ["class", *names[max(0, k - 2) : k]] for k, name in enumerate(names)}
    block = NetworkBlock({"class": [], **above}, "class", "A network.", "Sixty-one nodes.")
    path = tmp_path / "network.html"
    page = Page("A network", "n", ["Many."], {}, [Section("Network", [block])])
    path.write_text(render(page), encoding="utf-8")
    tab = open_tab(width=width)
    shown = tab.open(path)
    assert shown.evaluate(CUT) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    drawing = shown.locator(".network svg:visible")
    assert drawing.count() == 1
    assert drawing.locator(".node").count() == 61
    size = drawing.locator("text").first.evaluate("e => e.getBoundingClientRect().height")
    assert size >= 11
    assert tab.messages == []


@pytest.mark.parametrize(("width", "way"), [(1280, "tight"), (390, "stacked")])
def test_a_wide_table_is_set_otherwise_rather_than_scrolled(open_tab, tmp_path, width, way):
    names = [f"method {k}" for k in range(9)]
    rows = [entry("iris", name, 0.5) for name in names] + [entry("wine", names[0], 0.5)]
    path = tmp_path / "wide.html"
    path.write_text(render(experiment(table(rows))), encoding="utf-8")
    page = open_tab(width=width).open(path)
    box = page.get_by_role("region", name="Classification error by")
    assert way in box.get_attribute("class")
    assert box.evaluate("each => each.scrollWidth <= each.clientWidth")
    cell = box.locator("tbody td").last
    label = cell.evaluate("each => getComputedStyle(each, '::before').content")
    assert label == ('"method 8"' if way == "stacked" else "none")


def test_the_critical_difference_figure_is_there(pages, open_tab):
    page = open_tab().open(pages["run"])
    figure = page.get_by_role("img", name="Critical-difference diagram")
    assert figure.count() == 1
    assert figure.locator(".dot").count() == 4
    assert figure.locator(".ours").count() == 3  # all but the majority class
    assert "critical difference" in figure.inner_text()
    assert "Mean ranks over" in figure.get_attribute("aria-label")


def numbers(page, column):
    cells = page.locator(f"table >> nth=0 >> tbody tr > :nth-child({column + 1})").all()
    return [float(cell.get_attribute("data-v")) for cell in cells]


def test_a_table_is_sorted_by_click_and_by_keyboard(pages, open_tab):
    tab = open_tab()
    page = tab.open(pages["compare"])
    head = page.locator("table >> nth=0 >> thead th >> nth=1")
    assert head.get_attribute("aria-sort") is None
    best_first = numbers(page, 1)
    head.get_by_role("button", name="accuracy").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers(page, 1) == sorted(best_first)
    assert page.get_by_role("status").inner_text() == "Sorted by accuracy, ascending."
    # on with the keyboard: the button has the focus, the next heading is one tab away
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert numbers(page, 1) == sorted(best_first, reverse=True)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    second = page.locator("table >> nth=0 >> thead th >> nth=2")
    assert second.get_attribute("aria-sort") == "ascending"
    assert head.get_attribute("aria-sort") is None
    assert numbers(page, 2) == sorted(numbers(page, 2))
    page.locator("table >> nth=0 >> thead th >> nth=0").get_by_role("button").press("Enter")
    names = page.locator("table >> nth=0 >> tbody th").all_inner_texts()
    assert names == sorted(names, key=str.lower)
    assert tab.messages == []


def test_rows_without_a_value_come_last_in_both_orders(open_tab, tmp_path):
    rows = [entry("a", "x", None, 0.1, error=None), entry("b", "x", 2.0), entry("c", "x", -1.0)]
    path = tmp_path / "missing.html"
    path.write_text(render(experiment(table(rows))), encoding="utf-8")
    page = open_tab().open(path)
    names = page.locator("tbody th")
    ours = page.get_by_role("button", name="ours")
    for expected in (["c", "b", "a"], ["b", "c", "a"]):
        ours.click()
        assert names.all_inner_texts() == expected


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.fixture
def served(pages):
    """The pages on loopback: of files a browser may forget what they store."""
    handler = partial(QuietHandler, directory=pages["compare"].parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Print nothing."""


def test_the_theme_follows_the_system_and_the_button_which_is_remembered(served, open_tab):
    dark, tab = open_tab(scheme="dark"), open_tab()
    address = f"{served}/compare.html"
    dark.page.goto(address)
    page = tab.page
    page.goto(address)
    light_paper, dark_paper = background(page), background(dark.page)
    assert light_paper != dark_paper
    page.get_by_role("button", name="Dark theme").click()
    assert background(page) == dark_paper
    page.reload()
    assert background(page) == dark_paper
    page.get_by_role("button", name="Light theme").press("Enter")
    assert background(page) == light_paper
    assert set(tab.requests) == {address}
    assert tab.messages == []


def test_the_first_tab_skips_to_the_content(pages, open_tab):
    page = open_tab().open(pages["compare"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_paper_shows_what_was_closed_and_no_buttons(pages, open_tab):
    page = open_tab(scheme="dark").open(pages["bayesnet"])
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    closed = page.locator("details:not([open])")
    assert closed.count() > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() > 0
    assert page.pdf().startswith(b"%PDF")


def test_the_largest_page_opens_and_sorts(open_tab, tmp_path):
    path = Path(tmp_path) / "large.html"
    path.write_text(render(large_experiment()), encoding="utf-8")
    tab = open_tab()
    page = tab.open(path)
    page.get_by_text("All entries").first.click()
    page.locator("th button", has_text="difference").first.click()
    assert page.locator("th[aria-sort=ascending]").count() == 1
    assert tab.messages == []
