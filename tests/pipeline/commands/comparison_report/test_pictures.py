"""Pictures of comparisons: positions agree with the numbers."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from comparisons import make_comparison
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.pictures import draw_critical_difference, draw_scores
from bakeoff.pipeline.commands.drawing.panels import CLASS_COLOURS, render_svg

SVG = "{http://www.w3.org/2000/svg}"
DEMSAR_RANKS = {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
NUMBERS = {name: number for number, name in enumerate(DEMSAR_RANKS)}


def test_svg_is_well_formed_and_refers_to_its_own_ids_alone() -> None:
    figure = draw(make_comparison(["iris"], ["_knn", "svm"]))
    svg = render_svg(figure, "one", 'a <description> & "more"')
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'a <description> & "more"'
    assert root.find(f".//{SVG}style") is None
    ids = re.findall(r' id="([^"]+)"', svg)
    assert len(set(ids)) == len(ids) > 0
    referred = {*re.findall(r'href="#([^"]+)"', svg), *re.findall(r"url\(#([^)]+)\)", svg)}
    assert referred == set(ids)
    assert not set(ids) & set(re.findall(r' id="([^"]+)"', render_svg(figure, "two", "")))


def test_equal_figures_give_equal_bytes_with_names_as_they_are() -> None:
    ranks = {'<b>&"knn"</b>': 1.0, "$x$ --> \\alpha": 2.0}
    first, second = (
        draw_critical_difference(ranks, [], numbers=dict.fromkeys(ranks, 0), critical_difference=0.9) for _ in range(2)
    )
    svg = render_svg(first, "ranks", "")
    assert svg == render_svg(second, "ranks", "")
    texts = {element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert texts >= {'<b>&"knn"</b> (1.00)', "$x$ --> \\alpha (2.00)"}


def read_lines(figure: Figure) -> list[tuple[list[float], list[float]]]:
    lines = figure.axes[0].lines
    return [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in lines]


def test_without_a_critical_difference_none_is_drawn() -> None:
    figure = draw_critical_difference(DEMSAR_RANKS, [["C4.5+m+cf", "C4.5+cf"]], numbers=NUMBERS)
    # The bar of a group passes over another one, so that its members have dots.
    assert [x for x, _ in read_lines(figure)[1:2]] == [[1.964, 2.893]]
    assert figure.axes[0].lines[1].get_marker() == "o"
    assert not any(line.get_marker() == "|" for line in figure.axes[0].lines)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert not any("CD" in text for text in texts)


def test_ranks_groups_and_the_critical_difference_are_to_scale_and_names_joined_to_their_rank() -> None:
    groups = [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+m", "C4.5"]]
    figure = draw_critical_difference(DEMSAR_RANKS, groups, numbers=NUMBERS, critical_difference=1.25)
    lines = read_lines(figure)
    assert lines[0][0] == [*DEMSAR_RANKS.values()]
    assert [x for x, _ in lines[1:3]] == [[1.964, 2.0, 2.893], [2.0, 3.143]]
    assert lines[1][1][0] != lines[2][1][0]
    assert lines[-1][0] == [1.964, 1.964 + 1.25]
    elbows = {(x[0], y[0]): x[-1] for x, y in lines if len(x) == 3 and y[-1] == 0}
    texts: list[Any] = [text for text in figure.axes[0].texts if "C4.5" in text.get_text()]
    for text in texts:
        name, rank = text.get_text().removesuffix(")").split(" (")
        assert float(rank) == pytest.approx(DEMSAR_RANKS[name], abs=0.005)
        assert elbows[text.xy] == pytest.approx(float(rank), abs=0.005)
    assert len(texts) == 4


def draw(comparison: Comparison) -> Figure:
    picture = draw_scores(comparison, comparison.results[0])
    assert picture is not None
    return picture[0]


def test_dots_are_the_scores_and_diamonds_the_means_of_which_the_best_is_blue() -> None:
    comparison = make_comparison(["iris"], ["knn", "svm", "mlp"], failed=[("mlp", "iris")])
    lines: list[Any] = list(draw(comparison).axes[0].lines)
    drawn = [(to_hex(line.get_color()), line.get_xdata()) for line in lines if line.get_marker() == "D"]
    best, other = comparison.results[0].datasets[0].summaries
    expected = {row.configuration: [row.low, row.mean, row.high] for row in (best, other)}
    blue = [ends for colour, ends in drawn if colour == CLASS_COLOURS[0].lower()]
    assert blue == [pytest.approx(expected[best.configuration])]
    assert np.sort(np.concatenate([ends for _, ends in drawn])) == pytest.approx(np.sort([*expected.values()], None))
    points = np.concatenate([line.get_xdata() for line in lines if line.get_marker() == "o"])
    scores = [score for cell in comparison.cells for score in cell.scores.get("test_accuracy", ())]
    assert sorted(points) == sorted(scores)
