"""A real browser that a test drives as a person would: Debian's chromium, by Playwright."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = shutil.which("chromium")
TIMEOUT_MILLISECONDS = 60_000
WIDTH_PIXELS = 1600
HEIGHT_PIXELS = 1000


def missing() -> str:
    """Return why there is no browser on this machine; empty if there is one."""
    if CHROMIUM is None:
        return "no chromium on this machine: install Debian's package of that name"
    if importlib.util.find_spec("playwright") is None:
        return "no driver of the browser: pip install playwright"
    return ""


@contextmanager
def open_page() -> Iterator[Any]:
    """Yield a page of a new browser, for as long as the block lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(viewport={"width": WIDTH_PIXELS, "height": HEIGHT_PIXELS})
            page.set_default_timeout(TIMEOUT_MILLISECONDS)
            yield page
        finally:
            browser.close()
