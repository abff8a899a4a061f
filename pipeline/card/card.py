"""The card of a run, its description at the top of its page in MLflow, in the Markdown that MLflow's pages show.

These pages allow tables, code, and pictures with an address of the same server; they remove styles, inline SVG, and
pictures whose data stand in the address (``sanitize-html`` with MLflow's list of tags, in
``mlflow/server/js/src/common/utils/MarkdownUtils.ts``). So a picture is an artifact of the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode
from xml.sax.saxutils import escape

import numpy as np

from bakeoff.pipeline.card.report import PARTS, describe_pruned, describe_run_lines, get_tuned_params, tabulate_means
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import count_rows
from bakeoff.pipeline.tables.markup import escape_markdown, render_markdown
from bakeoff.pipeline.tables.table import TEXT
from bakeoff.pipeline.text.numbers import format_score, format_seconds
from bakeoff.pipeline.text.words import count_nouns

MAX_CARD_LETTERS = 8000
"""The length of a tag in MLflow, which cuts longer ones."""
MAX_COMMAND_LETTERS = 3000
MAX_ERROR_LETTERS = 1000
MAX_WARNINGS = 3
MAX_WARNING_LETTERS = 300
STAGES = ("tune", "fit", "prune", "decide", "predict")
WIDE_SPACE = "&emsp;"
MAX_PICTURE_CLASSES = 20
"""With more classes the numbers in the cells could not be read."""
MAX_LABEL_LETTERS = 16
MIN_CELL_PIXELS = 46
MAX_CELL_PIXELS = 90
FONT_PIXELS = 13
LETTER_PIXELS = 7.2
"""The mean width of a letter."""
MARGIN_PIXELS = 12
GAP_PIXELS = 6
TITLE_PIXELS = 24
DARK_SHARE = 0.55
"""From this share of the true class on, a cell is so dark that its number is white."""
LIGHTEST = np.array([255, 255, 255])
DARKEST = np.array([8, 69, 148])
"""From white to the darkest blue of ColorBrewer's scale ``Blues``, which colour-blind readers can distinguish."""


@dataclass(frozen=True)
class CardContent:
    """What the card of a run shows.

    Attributes
    ----------
    experiment : Experiment
    run_id : str
    params : mapping of str to str
        Those of the run.
    overrides : sequence of str
        The words of the command line that repeat the run.
    folds : sequence of FoldResult
        Those that were evaluated.
    means : mapping of str to float
        From `report.summarize_folds`.
    model : FittedModel or None
        None if the run did not finish.
    picture : str
        The name of the artifact that shows the confusion matrix; empty if there is none.
    ending : str
        Why the run did not finish, as ``RuntimeError: …``; empty if it did.
    notes : tuple of str
        Further lines, such as the verdict of an audit.
    """

    experiment: Experiment
    run_id: str
    params: Mapping[str, str]
    overrides: Sequence[str]
    folds: Sequence[FoldResult] = ()
    means: Mapping[str, float] = field(default_factory=dict)
    model: FittedModel | None = None
    picture: str = ""
    ending: str = ""
    notes: tuple[str, ...] = ()


def write_card(content: CardContent) -> str:
    """Return the card as Markdown of at most `MAX_CARD_LETTERS` letters; its first line describes the dataset."""
    blocks = [
        escape_markdown(content.experiment.dataset.describe()),
        _write_ending(content),
        _write_scores(content),
        _write_evaluation(content),
        *(escape_markdown(note) for note in content.notes),
        _write_picture(content),
        _write_commands(content),
        _write_warnings(content),
    ]
    # The last blocks are the least important ones, and the only long ones are limited by themselves.
    text = "\n\n".join(block for block in blocks if block)
    return text[:MAX_CARD_LETTERS]


def _write_ending(content: CardContent) -> str:
    if not content.ending:
        return ""
    n_folds = len(content.folds)
    before = f"the scores are those of the {count_nouns(n_folds, 'fold')} before"
    scores = before if n_folds else "no fold was scored"
    return f"**The run did not finish; {scores}.**\n\n{_write_code(content.ending[:MAX_ERROR_LETTERS])}"


def _write_scores(content: CardContent) -> str:
    """Return the table of scores, in which the test column is the one that counts."""
    if not content.means:
        return ""
    table = tabulate_means(content.experiment, content.means)
    # MLflow's page leaves no space between columns, so each begins with a wide one.
    first, *others = table.rows
    # Runs are judged by the headline on test rows.
    judged = (*first[:-1], replace(first[-1], kind=TEXT, is_best=True))
    emphasized = replace(table, rows=(judged, *others))
    return "\n".join(render_markdown(emphasized, WIDE_SPACE)) if len(table.columns) > 1 else ""


def _write_evaluation(content: CardContent) -> str:
    """Return how the rows were split, the spread over folds, and the seed."""
    words = [content.params.get("evaluation", "")]
    for key, value in content.params.items():
        if key.startswith("evaluation.") and value != "null":
            words.append(f"{key.removeprefix('evaluation.')}={value}")
    lines = [f"evaluation {_write_span(' '.join(words))}, seed `{content.experiment.seed}`"]
    folds = content.folds
    if folds:
        lines.append(_count_rows(folds))
    if len(folds) > 1:
        name = f"test_{content.experiment.headline}"
        scores = [fold.scores[name] for fold in folds]
        span = f"{format_score(min(scores))} to {format_score(max(scores))}"
        lines.append(f"{escape_markdown(name)} of single folds: {span}")
    times = {stage: content.means.get(f"time/{stage}") for stage in STAGES}
    seconds = [f"{stage} {format_seconds(mean)}" for stage, mean in times.items() if mean is not None]
    if seconds:
        lines.append(f"mean time: {', '.join(seconds)}")
    lines += _list_choices(content)
    return "\n".join(f"- {line}" for line in lines)


def _count_rows(folds: Sequence[FoldResult]) -> str:
    """Return the mean number of rows of each part that has any."""
    rows = []
    for part in PARTS:
        n_rows = sum(len(getattr(fold.split, part)) for fold in folds)
        if n_rows:
            rows.append(f"{n_rows / len(folds):g} {part}")
    of_folds = f"mean rows of {len(folds)} folds" if len(folds) > 1 else "rows"
    return f"{of_folds}: {', '.join(rows)}"


def _list_choices(content: CardContent) -> list[str]:
    """Return the effects of pruning, tuning and a threshold, unseen values, and the rows of the fit."""
    lines = []
    if pruned := describe_pruned(content.means):
        lines.append(pruned)
    tuned = {} if content.model is None else get_tuned_params(content.model)
    if tuned:
        chosen = ", ".join(f"{name.removeprefix('tuned.')}={value}" for name, value in tuned.items())
        rows = "all rows" if len(content.folds) > 1 else "the rows of this split"
        lines.append(f"tuned on {rows}: {escape_markdown(chosen)}")
    described = describe_run_lines(content.experiment, content.folds, content.model)
    lines += [escape_markdown(sentence) for sentence in described]
    if content.model is not None:
        lines.append(f"model {count_rows(content.experiment, content.model).describe()}")
    return lines


def _write_picture(content: CardContent) -> str:
    if not content.picture:
        return ""
    # Relative to the page, so that it is found behind any address of the server.
    address = f"get-artifact?{urlencode({'path': content.picture, 'run_uuid': content.run_id})}"
    where = f"the test rows of {len(content.folds)} folds" if len(content.folds) > 1 else "the test rows"
    return (
        f"Confusion matrix over {where}; the colour is the share of the true class:\n\n![confusion matrix]({address})"
    )


def _write_commands(content: CardContent) -> str:
    command = shlex.join(["bakeoff", *content.overrides])
    commands = [command] if len(command) <= MAX_COMMAND_LETTERS else []
    if not content.ending:
        commands.append(f"bakeoff replay {content.run_id}")
    if not commands:
        return "Its configuration is the artifact `config.yaml`."
    return "To repeat it:\n\n" + _write_code("\n".join(commands))


def _write_warnings(content: CardContent) -> str:
    # Most folds cause the same warnings, so each is shown once.
    warnings = list(dict.fromkeys(warning for fold in content.folds for warning in fold.model.warnings))
    if not warnings:
        return ""
    lines = [f"- {escape_markdown(' '.join(warning.split())[:MAX_WARNING_LETTERS])}" for warning in warnings]
    n_more = len(lines) - MAX_WARNINGS
    if n_more > 0:
        lines = [*lines[:MAX_WARNINGS], f"- and {n_more} more, in `warnings.txt`"]
    return "Warnings of the learner:\n\n" + "\n".join(lines)


def _write_span(text: str) -> str:
    """Return a text as inline code, whatever characters it contains."""
    longest = max(len(run) for run in re.findall("`*", text))
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{' '.join(text.split())}{space}{fence}"


def _write_code(text: str) -> str:
    fence = "```"
    return f"{fence}\n{text.replace(fence, chr(39) * 3)}\n{fence}"


def draw_confusion_matrix(counts: np.ndarray, labels: Sequence[str]) -> str:
    """Return the picture as SVG.

    The colour of a cell shows its share of the rows of the true class, so that rare classes are shown as clearly as
    frequent ones.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        Rows of the dataset, by true class (rows) and predicted class (columns).
    labels : sequence of str
        The c names of the classes.

    Returns
    -------
    str
    """
    names = [_shorten(label) for label in labels]
    label_pixels = LETTER_PIXELS * max(len(name) for name in names)
    cell = min(max(MIN_CELL_PIXELS, label_pixels + 2 * GAP_PIXELS), MAX_CELL_PIXELS)
    # Longer names of columns would overlap, and are vertical.
    is_upright = label_pixels > cell
    left = MARGIN_PIXELS + TITLE_PIXELS + label_pixels
    top = MARGIN_PIXELS + TITLE_PIXELS + GAP_PIXELS + (label_pixels if is_upright else FONT_PIXELS)
    x = left + cell * np.arange(len(names) + 1)  # (c + 1,)
    y = top + MIN_CELL_PIXELS * np.arange(len(names) + 1)  # (c + 1,)
    width = round(x[-1] + MARGIN_PIXELS)
    height = round(y[-1] + MARGIN_PIXELS)
    font = f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT_PIXELS}"'
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {font}>',
        f'<rect {size} fill="white"/>',
        *_draw_titles(x.mean(), y.mean()),
        *_draw_labels(names, x, y, is_upright),
        *_draw_cells(counts, x, y),
        _draw_box(x[0], y[0], x[-1] - x[0], y[-1] - y[0], 'fill="none" stroke="#444"'),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _draw_titles(center_x: float, center_y: float) -> list[str]:
    edge = MARGIN_PIXELS + FONT_PIXELS / 2
    return [
        _draw_text("predicted class", center_x, edge, "middle", weight="bold"),
        _draw_text("true class", edge, center_y, "middle", upright=True, weight="bold"),
    ]


def _draw_labels(names: Sequence[str], x: np.ndarray, y: np.ndarray, is_upright: bool) -> list[str]:
    """Return the names of the rows and columns between edges x (c + 1,) and y (c + 1,)."""
    parts = []
    center_x = (x[:-1] + x[1:]) / 2  # (c,)
    center_y = (y[:-1] + y[1:]) / 2  # (c,)
    for code, name in enumerate(names):
        parts.append(_draw_text(name, x[0] - GAP_PIXELS, center_y[code], "end"))
        if is_upright:
            parts.append(_draw_text(name, center_x[code], y[0] - GAP_PIXELS, "start", upright=True))
        else:
            parts.append(_draw_text(name, center_x[code], y[0] - GAP_PIXELS - FONT_PIXELS / 2, "middle"))
    return parts


def _draw_cells(counts: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[str]:
    """Return the cells between edges x (c + 1,) and y (c + 1,), and the numbers in them."""
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)  # (c, 1)
    shares = counts / totals  # (c, c)
    colours = np.rint(LIGHTEST + shares[..., None] * (DARKEST - LIGHTEST)).astype(int)  # (c, c, 3)
    width = x[1] - x[0]
    height = y[1] - y[0]
    parts = []
    for true_code, row in enumerate(counts.tolist()):
        for code, count in enumerate(row):
            red, green, blue = colours[true_code, code].tolist()
            style = f'fill="rgb({red},{green},{blue})" stroke="#ddd"'
            parts.append(_draw_box(x[code], y[true_code], width, height, style))
            if count:
                ink = "white" if shares[true_code, code] >= DARK_SHARE else "#222"
                parts.append(_draw_text(str(count), x[code] + width / 2, y[true_code] + height / 2, "middle", ink))
    return parts


def _draw_box(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


def _draw_text(
    text: str, x: float, y: float, anchor: str, ink: str = "#222", upright: bool = False, weight: str = "normal"
) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
    style = f'fill="{ink}" font-weight="{weight}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}{turn}>{escape(text)}</text>'


def _shorten(label: str) -> str:
    if len(label) <= MAX_LABEL_LETTERS:
        return label
    return f"{label[: MAX_LABEL_LETTERS - 1]}…"
