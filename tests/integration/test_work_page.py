"""The page of a calculation by hand in a browser: keyboard, numbers, width, and no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pandas as pd
import pytest
from short_calculations import name_words
from sklearn.base import is_regressor

import bakeoff
from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions.calculations import CALCULATIONS
from bakeoff.pipeline.commands.work.calculation import write_formula

NARROW = {"width": 420, "height": 800}
WIDE = {"width": 1280, "height": 800}
FRAME = pd.DataFrame(
    {"x": [1.0, 2, 2, 3, 5, 6, 7, 7], "z": [2.0, 1, 3, 2, 6, 5, 8, 5], "y": [*["no"] * 4, *["yes"] * 4]}
)

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(bool(browser.missing()), reason=browser.missing()),
]


class Opened:
    """A page in a browser, with what it asked the network for and what it complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.complaints.append(request.url)

    def open(self, path: Path, html: str) -> None:
        """Open a page that a file holds."""
        self.complaints.clear()
        path.write_text(html)
        self.page.goto(path.as_uri())

    def read(self) -> str:
        """Return the text of the step that is shown."""
        (shown,) = (each for each in self.page.locator(".step .line").all() if each.is_visible())
        return str(shown.inner_text()).replace("\n", " ")

    def press(self, key: str) -> str:
        """Press a key; return the text of the step that is shown then."""
        self.page.keyboard.press(key)
        return self.read()

    def measure_overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    with browser.open_page() as page:
        yield Opened(page)


def work(name: str) -> Any:
    frame = FRAME
    if is_regressor(REGISTRY[name]()):
        frame = FRAME[["x"]].assign(y=FRAME["x"] + np.sin(FRAME["z"]))
    words = [f"{key}={value}" for key, value in name_words(name).items()]
    return bakeoff.work(*words, dataset=frame, target="y", query={"x": 4, "z": 3})


@pytest.mark.parametrize("name", CALCULATIONS)
def test_the_page_of_each_learner_steps_by_keyboard_to_the_learners_answer(
    name: str, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = work(name)
    steps = result.steps
    opened.page.set_viewport_size(WIDE)
    opened.open(tmp_path / "page.html", result.html)
    assert opened.read().startswith("Step 1")
    assert opened.press("ArrowRight").startswith("Step 2")
    assert opened.page.url.endswith("#step-2")
    assert opened.press("ArrowLeft").startswith("Step 1")
    last = opened.press("End")
    assert last.startswith(f"Step {len(steps)} ")
    (answer,) = result.learner_answer
    assert write_formula(str(answer), result.digits) in last
    assert "; the same (" in last
    assert "is allowed" in last
    assert opened.press("Home").startswith("Step 1")
    opened.page.set_viewport_size(NARROW)
    for number, step in enumerate(steps[:40], start=1):
        assert opened.measure_overflow() <= 0, number
        marked = opened.page.locator("#training tr.in-play th").all_inner_texts()
        drawn = sorted(set(step.rows))
        assert marked == [str(row) for row in drawn]
        assert not 1 < len(drawn) < len(FRAME) or f"Rows {', '.join(map(str, drawn))}" in opened.read()
        opened.press("ArrowRight")
    assert opened.complaints == []


def test_a_page_plays_keeps_its_step_in_the_address_and_shows_all_without_scripts(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = work("perceptron")
    opened.page.set_viewport_size(WIDE)
    opened.open(tmp_path / "page.html", result.html)
    opened.page.goto(f"{(tmp_path / 'page.html').as_uri()}#step-3")
    opened.page.reload()
    assert opened.read().startswith("Step 3")
    opened.press(" ")
    assert opened.page.inner_text("#play") == "Pause"
    opened.page.wait_for_function("location.hash === '#step-4'")
    opened.press(" ")
    assert opened.page.inner_text("#play") == "Play"
    opened.page.fill("#slider", "2")
    assert opened.read().startswith("Step 2")
    opened.page.emulate_media(media="print")
    assert all(each.is_visible() for each in opened.page.locator(".step .line, figure").all())
    assert not opened.page.locator("#controls").is_visible()
    opened.page.emulate_media(media="screen")
    context = opened.page.context.browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto((tmp_path / "page.html").as_uri())
    assert plain.locator(".step .line:visible").count() == len(result.steps)
    assert not plain.locator("#controls").is_visible()
    context.close()


def test_a_notebook_shows_the_page_in_a_frame(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened.open(tmp_path / "notebook.html", work("perceptron")._repr_html_())
    frame = opened.page.frame_locator("iframe")
    frame.locator("#forward").click()
    assert frame.locator("#position").inner_text().startswith("Step 2 of ")
    assert opened.complaints == []
