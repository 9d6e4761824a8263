"""Screenshots of the report of every command, wide and on a phone, light and dark.

python docs/page_screens.py FOLDER [KIND ...]

Writes the pages (.html) and a screenshot of each at 390 and 1280 pixels, light and dark (.png), and
exits with 1 if a page is wider than its window, logs to the console or requests anything. The data
are a typical file, one with long, hostile and unusual names and twelve classes, one with a hundred
columns, and the papers' tables as the documentation has them. Needs playwright, and a Chromium on
the path.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import convert
from playwright.sync_api import Browser, sync_playwright
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.report import render
from ensemblage.studies import RunDocument

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
HOSTILE = "<script>alert(1)</script>"
LONG = "a column name that has forty letters all"
EXPLAINED = ("strata", "bayesnet", "subspace", "tree", "logistic", "forest", "auto")
RESULTS = Path(__file__).parent / "reproduction" / "results"
ODD = [HOSTILE, LONG, "🎉 party size", "bloodPressureSystolicInMillimetres", "x" * 45, "名前"]


def main(folder: Path, kinds: list[str]) -> int:
    """Write the pages, take screenshots, and print the problems."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [page for make in PAGES if not kinds or make.__name__ in kinds for page in make(folder)]
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        problems = [text for page in pages for text in take_screenshots(browser, page)]
        browser.close()
    sys.stdout.write("".join(f"{text}\n" for text in problems))
    sys.stdout.write(f"{len(pages)} pages, {len(pages) * 4} screenshots in {folder}\n")
    return int(bool(problems))


def take_screenshots(browser: Browser, page: Path) -> Iterator[str]:
    """Take four screenshots of a page; yield its problems."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            tab = context.new_page()
            messages: list[str] = []
            tab.on("console", lambda message, log=messages: log.append(message.text))
            tab.on("pageerror", lambda error, log=messages: log.append(str(error)))
            tab.on("request", lambda request, log=messages: log.append(request.url))
            tab.goto(page.as_uri())
            found = tab.evaluate("document.documentElement.scrollWidth")
            tab.screenshot(path=page.with_name(f"{page.stem}-{width}-{scheme}.png"), full_page=True)
            context.close()
            if found > width:
                yield f"{page.name}: {found} pixels wide in a window of {width}"
            yield from (f"{page.name}: {text}" for text in messages if text != page.as_uri())


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


def typical_file(folder: Path) -> Path:
    """Write a typical file: numeric and categorical columns, missing values."""
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
        satisfied = "yes" if score > 1.5 else "no"
        return [f"{age:.0f}", known, str(visits), job, town, draw.choice(["yes", "no"]), satisfied]

    return write_rows(folder / "survey.csv", head, row)


def awkward_file(folder: Path) -> Path:
    """Write twelve classes, and names that are long, hostile or unusual."""

    def row(draw: random.Random) -> list[str]:
        kind = draw.randrange(12)
        values = [f"{draw.gauss(kind % (k + 2), 1):.2f}" for k in range(len(ODD))]
        category = draw.choice([HOSTILE, "a category with a rather long name", "b"])
        return [*values, category, f"class number {kind} of twelve"]

    return write_rows(folder / "<awkward> & more.csv", [*ODD, "category", "the target's name"], row)


def wide_file(folder: Path) -> Path:
    """Write a hundred columns that depend on each other."""

    def row(draw: random.Random) -> list[str]:
        label = draw.randrange(3)
        values = [draw.gauss(label, 1.5)]
        for k in range(99):
            values.append(0.7 * values[max(0, k - draw.choice([0, 1]))] + draw.gauss(label / 4, 1))
        return [*(f"{value:.2f}" for value in values), "abc"[label]]

    head = [f"sensor_{k}_mean" for k in range(100)]
    return write_rows(folder / "sensors.csv", [*head, "state"], row)


def regression_file(folder: Path) -> Path:
    """Write prices of homes at four sites."""
    levels = {"harbour": 1.8, "hill": 0.8, "north": 1.0, "south": 1.3}

    def row(draw: random.Random) -> list[str]:
        site, rooms = draw.choice([*levels]), draw.randrange(1, 7)
        area, kind = draw.gammavariate(9, 12), draw.choice(["flat", "house", "loft", ""])
        price = 30_000 + 2_500 * area * levels[site] + 9_000 * rooms + draw.gauss(0, 25_000)
        known = "" if draw.random() < 0.07 else f"{area:.1f}"
        return [site, known, str(rooms), kind, f"{price:.0f}"]

    return write_rows(folder / "homes.csv", ["site", "area", "rooms", "kind", "price"], row)


def regression(folder: Path) -> Iterator[Path]:
    """Regression: a comparison with sources, and explanations."""
    file, page = regression_file(folder), folder / "compare_homes.html"
    methods = [option for name in ("mean", "ridge", "tree", "boosting") for option in ("-m", name)]
    run("compare", file, "-t", "price", "--source", "site", *methods, "-j", 1, "--report", page)
    yield page
    for method in ("ridge", "tree"):
        yield explained(folder, file, "price", method)


def compare(folder: Path) -> Iterator[Path]:
    """Compare methods on the typical file and on unusual names."""
    some = ["majority", "logistic", "forest", "bayesnet", "tree", "strata", "subspace"]
    for file, target, names in [
        (typical_file(folder), "satisfied", some),
        (awkward_file(folder), "the target's name", ["majority", "logistic", "bayesnet"]),
    ]:
        page = folder / f"compare_{short(file)}.html"
        methods = [option for name in names for option in ("-m", name)]
        run("compare", file, "-t", target, "--quick", *methods, "-j", 1, "--report", page)
        yield page


def explained(folder: Path, data: Path, target: str, method: str) -> Path:
    """Fit a model and explain it, and one row."""
    name = f"explain_{method}_{short(data)}"
    model = folder / f"{name}.skops"
    if not model.exists():
        run("fit", data, "-t", target, "-m", method, "--folds", 2, "-j", 1, "-o", model)
    # a forest has no exact contributions of columns
    row = [] if method == "forest" else ["--row", 3]
    run("explain", model, data, *row, "-o", folder / f"{name}.html")
    return folder / f"{name}.html"


def typical(folder: Path) -> Iterator[Path]:
    """Explain each kind of model of the typical file."""
    for method in EXPLAINED:
        yield explained(folder, typical_file(folder), "satisfied", method)


def awkward(folder: Path) -> Iterator[Path]:
    """Explain models of twelve classes and unusual names."""
    for method in ("strata", "bayesnet", "subspace", "tree", "logistic"):
        yield explained(folder, awkward_file(folder), "the target's name", method)


def wide(folder: Path) -> Iterator[Path]:
    """Explain models of a hundred columns."""
    for method in ("bayesnet", "tree", "subspace"):
        yield explained(folder, wide_file(folder), "state", method)


def audit(folder: Path) -> Iterator[Path]:
    """Audit a model with the five jobs as sources."""
    page = folder / "audit.html"
    run("audit", typical_file(folder), "-t", "satisfied", "--source", "job", "-m", "logistic",
        "-j", 1, "--report", page)  # fmt: skip
    yield page


def cluster(folder: Path) -> Iterator[Path]:
    """Find clusters in the typical file and with unusual names."""
    for file, target, clusters in [
        (typical_file(folder), "satisfied", 4),
        (awkward_file(folder), "the target's name", 12),
    ]:
        page = folder / f"cluster_{short(file)}.html"
        run("cluster", file, "-k", clusters, "-t", target, "--report", page)
        yield page


def experiment(folder: Path) -> Iterator[Path]:
    """Run a declared experiment: four methods on three datasets."""
    file, page = folder / "study.toml", folder / "experiment.html"
    datasets = [f"[[datasets]]\nname = '{name}'\n" for name in ("iris", "wine", "breast-cancer")]
    names = ["majority", "logistic", "bayesnet", "inner-bayesnet"]
    methods = [f"[[methods]]\nname = '{name}'\n" for name in names]
    text = "name = 'own'\ntitle = 'Four methods on three datasets'\nfolds = 3\n"
    file.write_text(text + "".join(datasets + methods), encoding="utf-8")
    run("run", file, "-j", 1, "--results", folder / "own.sqlite", "--report", page)
    yield page


def papers(folder: Path) -> Iterator[Path]:
    """Show the papers' tables as ``reproduce --report`` does, from the stored results."""
    for kept in sorted(RESULTS.glob("*.json")):
        facts = json.loads(kept.read_text(encoding="utf-8"))
        del facts["command"]
        known = convert(facts | {"results": None, "report": None, "finished": True}, RunDocument)
        page = folder / f"reproduce_{kept.stem}.html"
        page.write_text(render(known), encoding="utf-8")
        yield page


def short(file: Path) -> str:
    """Give a short name of a file."""
    return file.stem.split()[0].strip("<>")


PAGES = (compare, regression, typical, awkward, wide, audit, cluster, experiment, papers)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
