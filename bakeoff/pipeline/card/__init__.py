"""The card of a run: the description at the top of its MLflow page, in the Markdown that MLflow supports."""

from collections.abc import Sequence

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.tables.markup import escape_markdown

MAX_CARD_LETTERS = 8000
"""The maximum length of a tag in MLflow, which truncates longer ones."""
MAX_ERROR_LETTERS = 1000


def write_card(experiment: Experiment, lines: Sequence[str], commands: Sequence[str], ending: str) -> str:
    """Return the card as Markdown of at most `MAX_CARD_LETTERS` letters; its first line describes the dataset.

    Parameters
    ----------
    experiment : Experiment
    lines : sequence of str
        The headline score, what the run chose, and the verdict of the audit.
    commands : sequence of str
        The command lines that repeat the run.
    ending : str
        Why the run did not finish, such as ``RuntimeError: …``; empty if it did.
    """
    blocks = [escape_markdown(experiment.dataset.describe())]
    if ending:
        blocks += ["**The run did not finish.**", _write_code(ending[:MAX_ERROR_LETTERS])]
    blocks += [f"- {escape_markdown(line)}" for line in lines]
    blocks += ["To repeat it:", _write_code("\n".join(commands))]
    return "\n\n".join(blocks)[:MAX_CARD_LETTERS]


def _write_code(text: str) -> str:
    fence = "```"
    return f"{fence}\n{text.replace(fence, chr(39) * 3)}\n{fence}"
