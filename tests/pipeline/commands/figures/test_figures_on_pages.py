"""Figures on pages: ticks as in tables, no size of their own, and on a phone nothing cut, overlapping or too small."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
from doubles import experiment as make_experiment
from finished_runs import finish

from bakeoff import learners
from bakeoff.pipeline.commands.drawing.panels import in_style, make_panels, narrowed, render_svg
from bakeoff.pipeline.commands.figures import classification, curves, importances
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.tables import document

STYLE = Path(document.__file__).parent / "page.css"
LONG = "a_very_long_name_of_a_column_or_a_class_that_goes_on"
WIDTHS = (390, 768, 1400)
MEASURE = """() => {
  const found = { smallest: Infinity, cut: [], overlapping: [] };
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = frame.width ? [...svg.querySelectorAll("text")] : [];
    const boxes = texts.map(text => [text.getBoundingClientRect(), text.textContent]);
    for (const text of texts) {
      const matrix = text.getScreenCTM();
      const pixels = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b);
      found.smallest = Math.min(found.smallest, pixels);
    }
    boxes.forEach(([box, name], position) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) found.cut.push(name);
      for (const [other, otherName] of boxes.slice(position + 1)) {
        const width = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const height = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        // The box of a text is higher than its letters.
        if (width > 1 && height > 5) found.overlapping.push([name, otherName]);
      }
    });
  }
  return found;
}"""


def rename(dataset: Dataset) -> Dataset:
    """Return a dataset with long names, and with prices as targets of a regression."""
    X = dataset.X.set_axis([f"{LONG}_{number}" for number in range(dataset.X.shape[1])], axis=1)
    is_number = not dataset.is_classification
    y = dataset.y * 1e5 if is_number else np.array([f"{LONG}_{label}" for label in dataset.y])
    return replace(dataset, X=X, y=y, positive=None, name=LONG, columns=())


@pytest.mark.parametrize(
    ("ends", "expected"),
    [((0, 4_000_000), "1,000,000"), ((0, 4000), "1000"), ((0, 1), "0.2"), ((-40_000, 0), "−20,000")],
)
def test_ticks_are_round_numbers_without_powers_of_ten(ends: tuple[float, float], expected: str) -> None:
    with in_style():
        figure, (axes,) = make_panels(width=7.0, height=3.0)
        axes.plot(ends, ends)
        figure.draw_without_rendering()
        labels = [label.get_text() for label in axes.get_xticklabels()]
    assert expected in labels
    assert not any("e" in label for label in labels)
    assert axes.xaxis.get_offset_text().get_text() == ""


def test_a_narrow_figure_has_fewer_panels_side_by_side() -> None:
    wide, _ = make_panels(3, width=3.0, height=2.0)
    with narrowed():
        narrow, _ = make_panels(3, width=3.0, height=2.0)
    assert wide.axes[0].get_gridspec().ncols == 3  # type: ignore[union-attr]
    assert narrow.axes[0].get_gridspec().ncols == 1  # type: ignore[union-attr]
    assert narrow.get_figwidth() < wide.get_figwidth()


def test_the_size_of_a_picture_is_that_of_the_page() -> None:
    with in_style():
        figure, _ = make_panels(width=3.5, height=2.0)
        (opening,) = re.findall(r"<svg[^>]*>", render_svg(figure, "one", "what it shows"))
    assert 'viewBox="0 0 252 144"' in opening
    assert "--inches: 3.5;" in opening
    assert not re.search(r" (?:width|height)=", opening)


@pytest.mark.external
@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
@pytest.mark.parametrize("name", ["iris", "digits", "many", "diabetes"])
def test_no_text_is_cut_too_small_or_over_another_one(tmp_path: Path, name: str) -> None:
    if name == "many":
        given = load_bundled("iris")
        dataset = replace(given, y=np.array([f"{row % 60:02}" for row in range(len(given.y))]), positive=None)
    else:
        dataset = rename(load_bundled(name))
    learner: Any = learners.NaiveBayesClassifier() if dataset.is_classification else learners.Ridge()
    run = finish(make_experiment(dataset, learner, splitter=KFold(folds=3, stratify=name != "many")))
    drawn: list[Any] = []
    if dataset.is_classification:
        drawn += [classification.ConfusionMatrix()]
    if name == "iris":
        drawn += [importances.Importances(repeats=1), classification.RocCurves(), classification.Reliability()]
    if name == "diabetes":
        drawn += [importances.Importances(repeats=1), curves.Residuals()]
        drawn += [curves.ValidationCurve(parameter="alpha", values=[0.1, 1, 10, 100])]
    pictures = "".join(f"<figure>{figure.render(run, 'shown')}</figure>" for figure in drawn)
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><style>{STYLE.read_text()}</style>{pictures}")
    with browser.open_page() as opened:
        for width in WIDTHS:
            opened.set_viewport_size({"width": width, "height": 900})
            opened.goto(page.as_uri())
            found = opened.evaluate(MEASURE)
            assert (found["cut"], found["overlapping"]) == ([], []), width
            assert found["smallest"] >= 10.9, width
