"""Check the built documentation: its links lead somewhere, nothing is fetched from outside."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent / "_build" / "html"
FETCHING = {"img", "script", "link", "iframe", "source", "video", "audio"}


class Link(NamedTuple):
    """Where an element points to, and whether a browser fetches it by itself."""

    target: str
    fetched: bool


class PageReader(HTMLParser):
    """Collect the anchors and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[Link] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        named = {name: value for name, value in attrs if value}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        fetched = tag in FETCHING and named.get("rel") not in {"canonical", "next", "prev"}
        self.links += [Link(named[name], fetched) for name in ("href", "src") if name in named]


def read_pages() -> dict[Path, PageReader]:
    """Read all pages of the site."""
    pages = {}
    for path in sorted(SITE.rglob("*.html")):
        if path == SITE / "_modules" / "index.html":
            continue  # Sphinx lists modules there that it has made no page of
        reader = PageReader()
        reader.feed(path.read_text(encoding="utf-8"))
        pages[path] = reader
    return pages


def complaint(page: Path, link: Link, pages: dict[Path, PageReader]) -> str | None:
    """Say what is wrong with a link, if anything."""
    parts = urlsplit(link.target)
    if parts.scheme or parts.netloc:
        outside = link.fetched and parts.scheme != "data"
        return "fetched from outside" if outside else None
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_file():
        return "leads nowhere"
    known = pages[path].anchors if path in pages else set()
    missing = path in pages and parts.fragment and unquote(parts.fragment) not in known
    return "has no such place" if missing else None


def main() -> None:
    """Print what is wrong; exit with 1 if anything is."""
    pages = {path.resolve(): reader for path, reader in read_pages().items()}
    wrong = [
        f"{page.relative_to(SITE.resolve())}: {link.target} {text}"
        for page, reader in pages.items()
        for link in reader.links
        if (text := complaint(page, link, pages))
    ]
    total = sum(len(reader.links) for reader in pages.values())
    print("\n".join([*wrong, f"{len(pages)} pages, {total} links, {len(wrong)} wrong"]))  # noqa: T201
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
