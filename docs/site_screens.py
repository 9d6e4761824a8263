"""Screenshots of the documentation, wide and on a phone, light and dark.

make docs && python docs/site_screens.py FOLDER [PAGE ...]

Takes screenshots of the pages (the front page, the tutorial, an example, a guide, a table of a
paper and a page of the API, unless others are named) and exits with 1 if one is wider than its
window, logs to the console or loads anything from the network. Needs playwright, and a Chromium on
the path.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parent / "_build" / "html"
WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGES = [
    "index", "tutorial", "gallery/index", "gallery/plot_12_consensus", "guide/strata",
    "reproduction/hiss", "map", "api", "generated/ensemblage.strata.HISS",
]  # fmt: skip


def main(folder: Path, names: list[str]) -> int:
    """Take screenshots of the pages and print the problems."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        problems = [
            text for name in names or PAGES for text in take_screenshots(browser, name, folder)
        ]
        browser.close()
    sys.stdout.write("".join(f"{text}\n" for text in problems))
    sys.stdout.write(f"{len(names or PAGES)} pages, {len(problems)} problems\n")
    return int(bool(problems))


def take_screenshots(browser: Browser, name: str, folder: Path) -> Iterator[str]:
    """Take four screenshots of a page; yield its problems."""
    page = SITE / f"{name}.html"
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
            picture = f"{name.replace('/', '-')}-{width}-{scheme}.png"
            tab.screenshot(path=folder / picture, clip=clipped(width, tab))
            context.close()
            if found > width:
                yield f"{name}: {found} pixels wide in a window of {width}"
            yield from (f"{name}: {text}" for text in messages if not text.startswith("file:"))


def clipped(width: int, tab: object) -> dict[str, float]:
    """Take the first 3,000 pixels of a page."""
    height = tab.evaluate("document.documentElement.scrollHeight")  # type: ignore[attr-defined]
    tab.set_viewport_size({"width": width, "height": min(height, 3000)})  # type: ignore[attr-defined]
    return {"x": 0, "y": 0, "width": width, "height": min(height, 3000)}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
