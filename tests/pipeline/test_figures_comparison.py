"""Pictures of comparisons: positions agree with the numbers, nothing is cut, and equal figures give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from bakeoff.pipeline.figures.comparison import MAX_POINTS, draw_fold_scores, draw_pareto, draw_posteriors
from bakeoff.pipeline.figures.critical_difference import draw_critical_difference
from bakeoff.pipeline.figures.panels import CLASS_COLOURS
from bakeoff.pipeline.figures.svg import render_svg

SVG = "{http://www.w3.org/2000/svg}"
DEMSAR_NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
DEMSAR_RANKS = [3.143, 2.0, 2.893, 1.964]
LONG_NAME = 'sklearn_hist_gradient_boosting max_iter=100 preprocessing=standardize learning_rate=0.1 <&"$x$'
RANDOM = np.random.default_rng(0)


def long_names(n: int) -> list[str]:
    return [f"{number} {LONG_NAME}" if number % 3 else f"knn n_neighbors={number}" for number in range(n)]


def draw_scores(n_datasets: int, n_configurations: int, n_folds: int = 10) -> Figure:
    scores = [list(RANDOM.uniform(0.5, 1, (n_configurations, n_folds))) for _ in range(n_datasets)]
    scores[0][0] = np.array([])
    return draw_fold_scores(long_names(n_datasets), long_names(n_configurations), scores, [{1}] * n_datasets)


def draw_bars(n_datasets: int, n_configurations: int) -> Figure:
    posteriors = RANDOM.dirichlet([1, 1, 1], (n_datasets, n_configurations))
    posteriors[0, 0] = np.nan
    return draw_posteriors(long_names(n_datasets), long_names(n_configurations), posteriors)


def draw_costs(n: int) -> Figure:
    times = 10 ** RANDOM.uniform(-4, 2, n)
    scores = RANDOM.uniform(0.5, 1, n)
    return draw_pareto(
        long_names(n), scores, times, np.arange(n) < 2, score_label="mean accuracy", seconds_label="time"
    )


def draw_ranks(n: int) -> Figure:
    ranks = np.sort(RANDOM.uniform(1, n, n))
    groups = [[number, number + 1] for number in range(n - 1)]
    return draw_critical_difference(long_names(n), ranks, groups, critical_difference=1.4, note="Nemenyi, α = 0.05")


PICTURES: dict[str, Callable[[], Figure]] = {
    "ranks of 2": lambda: draw_ranks(2),
    "ranks of 14": lambda: draw_ranks(14),
    "scores of 1 by 2": lambda: draw_scores(1, 2),
    "scores of 5 by 8": lambda: draw_scores(5, 8),
    "posteriors of 1 by 1": lambda: draw_bars(1, 1),
    "posteriors of 5 by 6": lambda: draw_bars(5, 6),
    "costs of 1": lambda: draw_costs(1),
    "costs of 14": lambda: draw_costs(14),
}


@cache
def draw_picture(name: str) -> Figure:
    return PICTURES[name]()


def find_texts(figure: Figure) -> list[Text]:
    """Return the texts that are drawn: ticks beyond the ends of an axis, which Matplotlib keeps, are not."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    return [text for text in texts if text not in find_hidden_ticks(figure)]


def find_hidden_ticks(figure: Figure) -> list[Text]:
    hidden: list[Text] = []
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            outside = [tick for tick in ticks if not min(limits) <= tick.get_loc() <= max(limits)]
            hidden += [label for tick in outside for label in (tick.label1, tick.label2)]
            if not axes.axison:
                hidden += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return hidden


def find_text(figure: Figure, content: str) -> Text:
    (found,) = (text for text in find_texts(figure) if text.get_text() == content)
    return found


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_leaves_the_picture(name: str) -> None:
    figure = draw_picture(name)
    width, height = figure.bbox.size
    for text in find_texts(figure):
        # An annotation's extent would include its line, which ends at its point inside the axes.
        box = Text.get_window_extent(text)
        assert box.x0 >= -1, text.get_text()
        assert box.y0 >= -1, text.get_text()
        assert box.x1 <= width + 1, text.get_text()
        assert box.y1 <= height + 1, text.get_text()


@pytest.mark.parametrize("name", ["ranks of 14", "costs of 14"])
def test_names_do_not_overlap(name: str) -> None:
    figure = draw_picture(name)
    names = [text for text in find_texts(figure) if "knn" in text.get_text() or "sklearn" in text.get_text()]
    assert len(names) == 14
    for first, second in combinations(names, 2):
        a = Text.get_window_extent(first)
        b = Text.get_window_extent(second)
        overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
        # Boxes of lines reach a little beyond the letters.
        assert overlap < 3 or a.x1 < b.x0 or b.x1 < a.x0, (first.get_text(), second.get_text())


@pytest.mark.parametrize("name", PICTURES)
def test_svg_is_well_formed_and_refers_to_its_own_ids_alone(name: str) -> None:
    svg = render_svg(draw_picture(name), "one", 'a <description> & "more"')
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'a <description> & "more"'
    assert root.find(f".//{SVG}style") is None
    ids = re.findall(r' id="([^"]+)"', svg)
    assert len(set(ids)) == len(ids)
    referred = {*re.findall(r'href="#([^"]+)"', svg), *re.findall(r"url\(#([^)]+)\)", svg)}
    assert referred == set(ids)
    assert not set(ids) & set(re.findall(r' id="([^"]+)"', render_svg(draw_picture(name), "two", "")))


def test_equal_figures_give_equal_bytes() -> None:
    def draw() -> Figure:
        return draw_critical_difference(DEMSAR_NAMES, DEMSAR_RANKS, [[0, 1, 2, 3]], critical_difference=1.25)

    assert render_svg(draw(), "ranks", "ranks") == render_svg(draw(), "ranks", "ranks")


def test_names_stand_in_svg_as_they_are() -> None:
    names = ['<b>&"knn"</b>', "$x$ --> \\alpha", "日本"]
    svg = render_svg(draw_critical_difference(names, [1.0, 2.0, 2.5], [], critical_difference=0.9), "ranks", "")
    texts = {element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert set(names) <= texts


def get_dots(figure: Figure) -> np.ndarray:
    """Return the horizontal positions of the dots on the axis of ranks, in the order of the configurations."""
    (dots,) = (line for line in figure.axes[0].lines if line.get_marker() == "o")
    return np.asarray(dots.get_xdata(), dtype=float)


def test_dots_and_the_critical_difference_are_to_scale() -> None:
    figure = draw_critical_difference(DEMSAR_NAMES, DEMSAR_RANKS, [[3, 1, 2, 0]], critical_difference=1.25)
    x = get_dots(figure)
    slope, start = np.polyfit(DEMSAR_RANKS, x, 1)
    assert np.allclose(start + slope * np.array(DEMSAR_RANKS), x)
    assert slope > 0
    spans = [np.ptp(np.asarray(line.get_xdata(), dtype=float)) for line in figure.axes[0].lines]
    assert any(np.isclose(span, 1.25 * slope) for span in spans)
    # Ticks of the axis stand where their ranks would.
    assert np.isclose(find_text(figure, "2").get_position()[0], start + 2 * slope)
    for rank in DEMSAR_RANKS:
        assert find_text(figure, f"{rank:.2f}")


def test_names_are_joined_to_their_own_rank() -> None:
    figure = draw_critical_difference(DEMSAR_NAMES, DEMSAR_RANKS, [], critical_difference=1.25)
    x = dict(zip(DEMSAR_NAMES, get_dots(figure), strict=True))
    elbows = [line for line in figure.axes[0].lines if len(np.asarray(line.get_xdata())) == 3]
    for name in DEMSAR_NAMES:
        text: Any = find_text(figure, name)
        y = text.xy[1]
        (elbow,) = (line for line in elbows if np.isclose(np.asarray(line.get_ydata())[0], y) and
                    np.isclose(np.asarray(line.get_xdata())[-1], x[name]))  # fmt: skip
        assert np.asarray(elbow.get_xdata())[0] != x[name]


def test_bars_reach_over_their_groups_and_never_touch_on_one_level() -> None:
    ranks = np.array([1.2, 1.9, 2.6, 3.3, 4.5, 5.1])
    groups = [[0, 1, 2], [1, 2, 3], [4, 5]]
    figure = draw_critical_difference(list("abcdef"), ranks, groups, critical_difference=1.5)
    x = get_dots(figure)
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() > 3]
    drawn = [(np.min(line.get_xdata()), np.max(line.get_xdata()), np.asarray(line.get_ydata())[0]) for line in bars]
    wanted = [(x[group].min(), x[group].max()) for group in groups]
    assert np.allclose([bar[:2] for bar in drawn], wanted)
    for first, second in combinations(drawn, 2):
        assert first[2] != second[2] or first[1] < second[0]


def test_members_of_a_group_with_a_gap_are_dotted() -> None:
    figure = draw_critical_difference(list("abc"), [1.0, 2.0, 3.0], [[0, 2]], critical_difference=0.9)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    # On the axis all three, on the bar its two members.
    assert sorted(len(np.asarray(line.get_xdata())) for line in dots) == [2, 3]


def test_box_plots_show_means_medians_and_the_best() -> None:
    low = np.array([0.5, 0.6, 0.7, 0.7, 0.9])
    high = np.array([0.8, 0.8, 0.9, 0.95, 1.0])
    figure = draw_fold_scores(["iris"], ["knn", "svm"], [[low, high]], [{1}])
    lines = figure.axes[0].lines
    means = {to_hex(line.get_color()): float(np.asarray(line.get_xdata())[0]) for line in lines
             if line.get_marker() == "D"}  # fmt: skip
    assert means[CLASS_COLOURS[0].lower()] == pytest.approx(high.mean())
    assert sorted(means.values()) == pytest.approx([low.mean(), high.mean()])
    points = np.concatenate([np.asarray(line.get_xdata()) for line in lines if line.get_marker() == "o"])
    assert sorted(points) == sorted([*low, *high])
    drawn = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in lines])
    for scores in (low, high):
        for quartile in np.percentile(scores, [25, 50, 75]):
            assert np.isclose(drawn, quartile).any()


def test_missing_and_undefined_scores_are_said_and_leave_no_mark() -> None:
    cells = [np.array([]), np.array([np.nan, np.nan])]
    figure = draw_fold_scores(["iris"], ["knn", "svm"], [cells], [set()])
    assert [text.get_text() for text in find_texts(figure)].count("no scores") == 2
    assert not figure.axes[0].lines


def test_too_many_points_are_left_out_and_boxes_stay() -> None:
    scores = [[RANDOM.normal(size=MAX_POINTS // 2 + 1), RANDOM.normal(size=MAX_POINTS // 2 + 1)]]
    figure = draw_fold_scores(["iris"], ["knn", "svm"], scores, [{0}])
    points = sum(len(np.asarray(line.get_xdata())) for line in figure.axes[0].lines if line.get_marker() == "o")
    assert 0 < points < 100
    # The boxes of the best, and those of the others.
    assert len(figure.axes[0].patches) == 2


def test_parts_of_posterior_bars_are_as_wide_as_their_probabilities() -> None:
    posteriors = np.array([[[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], [[np.nan] * 3, [0.25, 0.25, 0.5]]])
    figure = draw_posteriors(["iris", "wine"], ["knn", "svm"], posteriors)
    for axes, bars in zip(figure.axes, posteriors, strict=True):
        corners = [np.asarray(patch.get_path().vertices).reshape(-1, 5, 2) for patch in axes.patches]
        widths = [np.ptp(corner[:, :, 0], axis=1) for corner in corners]
        known = bars[np.isfinite(bars).all(axis=1)]
        assert np.allclose(np.transpose(widths), known)
    assert find_text(figure, "no posterior")
    assert find_text(figure, "70 %")


def get_offsets(figure: Figure, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in figure.axes[0].lines if line.get_marker() == marker]
    pairs: list[tuple[float, float]] = []
    for line in lines:
        pairs += zip(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True)
    return sorted(pairs)


def test_the_front_is_marked_and_configurations_without_time_are_left_out() -> None:
    figure = draw_pareto(
        ["knn", "svm", "mlp", "lost"],
        np.array([0.9, 0.8, 0.95, 0.7]),
        np.array([1.0, 2.0, 3.0, np.nan]),
        [True, False, True, False],
        score_label="accuracy",
        seconds_label="seconds",
    )
    assert get_offsets(figure, "D") == [(1.0, 0.9), (3.0, 0.95)]
    assert get_offsets(figure, "o") == [(2.0, 0.8)]
    names = [text.get_text() for text in find_texts(figure) if isinstance(text, Annotation)]
    assert names == ["mlp", "knn", "svm"]
    low, high = figure.axes[0].get_ylim()
    assert low < high


def test_better_is_up_for_a_loss_as_well() -> None:
    figure = draw_pareto(
        ["knn", "svm"],
        np.array([0.2, 0.4]),
        np.array([1.0, 2.0]),
        [True, False],
        score_label="log loss",
        seconds_label="seconds",
        greater_is_better=False,
    )
    low, high = figure.axes[0].get_ylim()
    assert low > high
