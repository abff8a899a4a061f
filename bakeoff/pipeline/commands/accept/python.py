"""``bakeoff.accept``: whether a run may replace the champion of a line of tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.commands.accept.command import AcceptRequest
from bakeoff.pipeline.commands.accept.judgement import Answer, accept_run
from bakeoff.pipeline.commands.accept.report import describe_answer, list_lines
from bakeoff.pipeline.python.call import own_process_state
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import find_store, list_run_ids


def accept(run: str | RunResult = "", *, line: str, base: str | RunResult = "", **keys: Any) -> AcceptResult:
    """Judge a run by the rules of a line of tries, open the line, list it, or end it on its reserved rows.

    Parameters
    ----------
    run : str or RunResult
        The run, or ``final``; without it, the line is only opened or listed.
    line : str
        The name of the line.
    base : str or RunResult
        The first champion, which opens the line.
    **keys
        Further keys of the command: ``tries``, ``alpha``, ``margin``, ``metric``, ``register`` (``as=`` on the command
        line), ``dataset``, ``trust``, ``tracking__uri`` and ``tracking__experiment``. The store defaults to that of
        the results.

    Returns
    -------
    AcceptResult

    Raises
    ------
    UserError
        The run cannot be judged by the rules of the line.
    """
    words = [list_run_ids(each)[0] for each in (run, base)]
    results = [each for each in (run, base) if not isinstance(each, str)]
    with own_process_state():
        return AcceptResult(
            accept_run(AcceptRequest(run=words[0], line=line, base=words[1], **find_store(results, keys)))
        )


@dataclass(frozen=True, repr=False)
class AcceptResult:
    """The answer to a run that was offered to a line.

    Attributes
    ----------
    answer : Answer
        All results, as plain values.
    """

    answer: Answer

    @property
    def is_accepted(self) -> bool:
        """Whether the run was kept; also true if the line was opened or listed, or is better on its reserved rows."""
        return self.answer.is_accepted

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what was counted, and on what could not be checked."""
        return self.answer.notes

    def to_dict(self) -> dict[str, Any]:
        """Return the document that the command prints with ``to=json``."""
        return describe_answer(self.answer)

    def __repr__(self) -> str:
        return "\n".join(list_lines(self.answer))
