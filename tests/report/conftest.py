"""A browser for the whole session, and pages with their console messages and requests."""

import shutil
from functools import cache

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.strata import HISS, StrataEnsembleClassifier
from ensemblage.studies import make_model

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """The machine's own Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(BROWSERS)}")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


class Tab:
    """A tab, with everything that a page should not do."""

    def __init__(self, page):
        self.page = page
        self.requests, self.messages = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", self._refuse)

    def _refuse(self, dialog):
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path):
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture
def open_tab(browser):
    """Open tabs: wide or phone-size, light or dark."""
    contexts = []

    def new(width=1280, height=900, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        return Tab(context.new_page())

    yield new
    for context in contexts:
        context.close()


SMALLER = {
    "subspace": {"model__n_estimators": 2, "model__fusion": "product", "model__max_iter": 5},
    "strata": {"model": StrataEnsembleClassifier(HISS(2, 0.8), random_state=0)},
}


@pytest.fixture(scope="session")
def quick_model():
    """Fit a method on iris, smaller than by default."""

    @cache
    def fitted(method):
        iris = load_dataset("iris")
        model = make_model(method, iris.columns, seed=0).set_params(**SMALLER.get(method, {}))
        return model.fit(iris.X, iris.y)

    return fitted
