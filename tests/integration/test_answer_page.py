"""The page of a sheet in a real browser: typed with the keyboard alone, saved as a file, and graded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import browser
import pytest
from answer_sheets import SHEETS, solve

from bakeoff.pipeline.commands.grade.grading import grade_class
from bakeoff.pipeline.commands.grade.request import GradeRequest
from bakeoff.pipeline.commands.work.command import make_class_sheet, work_by_hand
from bakeoff.pipeline.commands.work.request import WorkRequest

PHONE_PIXELS = 390


@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing() or "there is a browser")
def test_answers_are_typed_kept_saved_and_graded(tmp_path: Path) -> None:
    folder = tmp_path / "sheets"
    request = WorkRequest(
        words=SHEETS["knn"], table="random", rows="6", blank=0.8, students=1, output=folder, to="html"
    )
    work_by_hand(request)
    key = make_class_sheet(replace(request), 1)[1]
    answers = solve(key)
    with browser.open_page() as page:
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 800})
        page.goto((folder / "sheet-01.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_PIXELS
        page.locator("#answers input").focus()
        page.keyboard.type('Ada "A", Ltd.')
        for answer in answers.values():
            page.keyboard.press("Enter")
            page.keyboard.type(answer)
        with page.expect_download() as download:
            page.locator("#save").press("Enter")
        download.value.save_as(tmp_path / "a.csv")
        page.reload()
        assert page.locator("input[name=b1]").input_value() == answers["b1"]
    (student,) = grade_class(GradeRequest(task=folder, files=(str(tmp_path / "a.csv"),))).students
    assert student.name == 'Ada "A", Ltd.'
    assert student.points == student.most == len(answers)
