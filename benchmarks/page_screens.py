"""Pictures of the page of every command, wide and on a phone, light and dark, to be looked at.

python benchmarks/page_screens.py FOLDER [KIND ...]

Writes the pages (.html) and a picture of each at 390 and 1280 pixels, light and dark (.png), and
ends with 1 if a page is wider than its window, speaks on the console or asks for anything. The
pages are of a file as people have it, and of one with long, hostile and odd names, twelve classes
and sixty columns. Needs playwright, and a Chromium on the path.
"""

from __future__ import annotations

import csv
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from typer.testing import CliRunner

from ensemblage.cli import app

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
HOSTILE = "<script>alert(1)</script>"
LONG = "a column name that has forty letters all"
ODD = [HOSTILE, LONG, "🎉 party size", "bloodPressureSystolicInMillimetres", "x" * 45, "名前"]


def main(folder: Path, kinds: list[str]) -> int:
    """Make the pages, photograph them, and tell what is wrong with them."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [make(folder) for make in PAGES.values() if not kinds or make.__name__ in kinds]
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        wrong = [text for page in pages for text in photographed(browser, page)]
        browser.close()
    sys.stdout.write("".join(f"{text}\n" for text in wrong))
    sys.stdout.write(f"{len(pages)} pages, {len(pages) * 4} pictures in {folder}\n")
    return int(bool(wrong))


def photographed(browser: Browser, page: Path) -> Iterator[str]:
    """Photograph a page four times; yield what it should not do."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            tab = context.new_page()
            said: list[str] = []
            tab.on("console", lambda message, said=said: said.append(message.text))
            tab.on("pageerror", lambda error, said=said: said.append(str(error)))
            tab.on("request", lambda request, said=said: said.append(request.url))
            tab.goto(page.as_uri())
            found = tab.evaluate("document.documentElement.scrollWidth")
            tab.screenshot(path=page.with_name(f"{page.stem}-{width}-{scheme}.png"), full_page=True)
            context.close()
            if found > width:
                yield f"{page.name}: {found} pixels wide in a window of {width}"
            yield from (f"{page.name}: {text}" for text in said if text != page.as_uri())


def run(*arguments: object) -> None:
    """Run a command of ``ensemblage``, which must succeed."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    if done.exit_code:
        raise RuntimeError(done.output)


def write_rows(path: Path, head: list[str], row: Callable[[random.Random], list[str]]) -> Path:
    """Write a file of 400 rows, the same each time."""
    draw = random.Random(0)  # noqa: S311
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *(row(draw) for _ in range(400))])
    return path


def usual_file(folder: Path) -> Path:
    """Write a file as people have it: numbers, words, gaps."""
    head = ["age", "income", "visits", "job", "town", "smoker", "satisfied"]

    def row(draw: random.Random) -> list[str]:
        young = draw.random() < 0.4
        age = draw.gauss(28 if young else 58, 6)
        income = draw.gauss(31_000 if young else 52_000, 8_000)
        visits = draw.choice([0, 1, 1, 2, 3, 5])
        job = draw.choice(["student", "cook", "nurse"] if young else ["clerk", "nurse", "retired"])
        score = (income / 10_000 - 3) * (1 if young else -1) + visits + draw.gauss(0, 1)
        known = "" if draw.random() < 0.07 else f"{income:.0f}"
        town = draw.choice(["Bergen", "Cairo", "Lima", ""])
        says = "yes" if score > 1.5 else "no"
        return [f"{age:.0f}", known, str(visits), job, town, draw.choice(["yes", "no"]), says]

    return write_rows(folder / "survey.csv", head, row)


def awkward_file(folder: Path) -> Path:
    """Write twelve classes; names that are long, hostile or odd."""

    def row(draw: random.Random) -> list[str]:
        kind = draw.randrange(12)
        values = [f"{draw.gauss(kind % (k + 2), 1):.2f}" for k in range(len(ODD))]
        word = draw.choice([HOSTILE, "a category with a rather long name", "b"])
        return [*values, word, f"class number {kind} of twelve"]

    return write_rows(folder / "<awkward> & more.csv", [*ODD, "word", "the target's name"], row)


def wide_file(folder: Path) -> Path:
    """Write sixty columns that depend on each other."""

    def row(draw: random.Random) -> list[str]:
        label = draw.randrange(3)
        values = [draw.gauss(label, 1.5)]
        for k in range(59):
            values.append(0.7 * values[max(0, k - draw.choice([0, 1]))] + draw.gauss(label / 4, 1))
        return [*(f"{value:.2f}" for value in values), "abc"[label]]

    head = [f"sensor_{k}_mean" for k in range(60)]
    return write_rows(folder / "sensors.csv", [*head, "state"], row)


def compare(folder: Path) -> Path:
    """Compare ours with baselines."""
    page = folder / "compare.html"
    some = ["majority", "logistic", "forest", "bayesnet", "inner-bayesnet", "strata", "subspace"]
    methods = [word for name in some for word in ("-m", name)]
    run("compare", usual_file(folder), "-t", "satisfied", "--quick", *methods, "-j", 1,
        "--report", page)  # fmt: skip
    return page


def compare_awkward(folder: Path) -> Path:
    """Compare on a file with odd names."""
    page = folder / "compare_awkward.html"
    some = ["majority", "logistic", "bayesnet"]
    methods = [word for name in some for word in ("-m", name)]
    run("compare", awkward_file(folder), "-t", "the target's name", "--quick", *methods, "-j", 1,
        "--report", page)  # fmt: skip
    return page


def explained(folder: Path, data: Path, target: str, method: str, *, row: bool = False) -> Path:
    """Fit a model and explain it."""
    name = f"explain_{method}_{data.stem.split()[0].strip('<>')}"
    model = folder / f"{name}.skops"
    run("fit", data, "-t", target, "-m", method, "--folds", 2, "-j", 1, "-o", model)
    rows = [data, "--row", 3] if row else []
    run("explain", model, *rows, "-o", folder / f"{name}.html")
    return folder / f"{name}.html"


def strata(folder: Path) -> Path:
    """Explain strata, and a row."""
    return explained(folder, usual_file(folder), "satisfied", "strata", row=True)


def strata_awkward(folder: Path) -> Path:
    """Explain strata of twelve classes and odd names."""
    return explained(folder, awkward_file(folder), "the target's name", "strata", row=True)


def network(folder: Path) -> Path:
    """Explain a network."""
    return explained(folder, usual_file(folder), "satisfied", "bayesnet")


def network_awkward(folder: Path) -> Path:
    """Explain a network of odd names."""
    return explained(folder, awkward_file(folder), "the target's name", "bayesnet")


def network_wide(folder: Path) -> Path:
    """Explain a network of sixty-one nodes."""
    return explained(folder, wide_file(folder), "state", "bayesnet")


def subspace(folder: Path) -> Path:
    """Explain joint subspaces."""
    return explained(folder, usual_file(folder), "satisfied", "subspace")


def subspace_awkward(folder: Path) -> Path:
    """Explain joint subspaces of odd names."""
    return explained(folder, awkward_file(folder), "the target's name", "subspace")


def cluster(folder: Path) -> Path:
    """Find four clusters."""
    page = folder / "cluster.html"
    run("cluster", usual_file(folder), "-k", 4, "-t", "satisfied", "--report", page)
    return page


def cluster_awkward(folder: Path) -> Path:
    """Find twelve clusters by odd names."""
    page = folder / "cluster_awkward.html"
    run("cluster", awkward_file(folder), "-k", 12, "-t", "the target's name", "--report", page)
    return page


def own_study(folder: Path) -> Path:
    """Run an experiment of one's own: four methods on three datasets."""
    file, page = folder / "study.toml", folder / "own_study.html"
    datasets = [f"[[datasets]]\nname = '{name}'\n" for name in ("iris", "wine", "breast-cancer")]
    names = ["majority", "logistic", "bayesnet", "inner-bayesnet"]
    methods = [f"[[methods]]\nname = '{name}'\n" for name in names]
    text = "name = 'own'\ntitle = 'Four methods on three datasets'\nfolds = 3\n"
    file.write_text(text + "".join(datasets + methods), encoding="utf-8")
    run("run", file, "-j", 1, "--results", folder / "own.sqlite", "--report", page)
    return page


def paper(folder: Path) -> Path:
    """Reproduce a paper's table, as far as a few seconds go."""
    page = folder / "paper.html"
    run("reproduce", "joint-figure1", "--quick", "--budget", "20s", "-j", 1,
        "--results", folder / "paper.sqlite", "--report", page)  # fmt: skip
    return page


PAGES = {
    each.__name__: each
    for each in (
        compare, compare_awkward, strata, strata_awkward, network, network_awkward, network_wide,
        subspace, subspace_awkward, cluster, cluster_awkward, own_study, paper,
    )
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
