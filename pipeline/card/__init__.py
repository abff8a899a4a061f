"""The card of a run: its description at the top of its page in MLflow, in the Markdown that MLflow's pages show."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.pipeline.card.report import (
    describe_pruned,
    describe_run_lines,
    describe_tuning,
    tabulate_means,
)
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import count_rows, describe_rows
from bakeoff.pipeline.tables.markup import escape_markdown, render_markdown
from bakeoff.pipeline.tables.table import TEXT
from bakeoff.pipeline.text.wording import count_nouns

MAX_CARD_LETTERS = 8000
"""The length of a tag in MLflow, which cuts longer ones."""
MAX_ERROR_LETTERS = 1000
WIDE_SPACE = "&emsp;"
"""MLflow's page leaves no space between columns."""


@dataclass(frozen=True)
class CardContent:
    """The contents of the card of a run.

    Attributes
    ----------
    experiment : Experiment
    run_id : str
    overrides : sequence of str
        The words of the command line that repeat the run.
    folds : sequence of FoldResult
        Those that were evaluated.
    means : mapping of str to float
        From `report.summarize_folds`.
    model : FittedModel or None
        None if the run did not finish.
    ending : str
        Why the run did not finish, as ``RuntimeError: …``; empty if it did.
    notes : tuple of str
        Further lines, such as the verdict of an audit.
    """

    experiment: Experiment
    run_id: str
    overrides: Sequence[str]
    folds: Sequence[FoldResult] = ()
    means: Mapping[str, float] = field(default_factory=dict)
    model: FittedModel | None = None
    ending: str = ""
    notes: tuple[str, ...] = ()


def write_card(content: CardContent) -> str:
    """Return the card as Markdown of at most `MAX_CARD_LETTERS` letters; its first line describes the dataset."""
    blocks = [
        escape_markdown(content.experiment.dataset.describe()),
        _write_ending(content),
        _write_scores(content),
        *(f"- {escape_markdown(line)}" for line in _list_choices(content)),
        *(escape_markdown(note) for note in content.notes),
        _write_commands(content),
    ]
    return "\n\n".join(block for block in blocks if block)[:MAX_CARD_LETTERS]


def _write_ending(content: CardContent) -> str:
    if not content.ending:
        return ""
    n_folds = len(content.folds)
    scores = f"the scores are those of the {count_nouns(n_folds, 'fold')} before" if n_folds else "no fold was scored"
    return f"**The run did not finish; {scores}.**\n\n{_write_code(content.ending[:MAX_ERROR_LETTERS])}"


def _write_scores(content: CardContent) -> str:
    """Return the table of scores, in which the headline on test rows, by which runs are judged, is emphasized."""
    if not content.means:
        return ""
    table = tabulate_means(content.experiment, content.means)
    first, *others = table.rows
    judged = (*first[:-1], replace(first[-1], kind=TEXT, is_best=True))
    return "\n".join(render_markdown(replace(table, rows=(judged, *others)), WIDE_SPACE))


def _list_choices(content: CardContent) -> list[str]:
    """Return the effects of pruning, tuning and a threshold, unseen values, and the rows of the fit."""
    pruned = describe_pruned(content.means)
    lines = [pruned] if pruned else []
    if content.model is not None:
        lines += describe_tuning(content.folds, content.model)
    lines += describe_run_lines(content.experiment, content.folds, content.model)
    if content.model is not None:
        lines.append(f"model {describe_rows(**count_rows(content.experiment, content.model))}")
    return lines


def _write_commands(content: CardContent) -> str:
    commands = [] if content.ending else [f"bakeoff replay {content.run_id}"]
    commands.append(shlex.join(["bakeoff", *content.overrides]))
    return "To repeat it:\n\n" + _write_code("\n".join(commands))


def _write_code(text: str) -> str:
    fence = "```"
    return f"{fence}\n{text.replace(fence, chr(39) * 3)}\n{fence}"
