"""``bakeoff.work``: a calculation by hand, as steps and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from os import PathLike, fspath
from typing import Any

import pandas as pd

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculate import calculate
from bakeoff.pipeline.commands.work.calculation import HandCalculation, write_formula
from bakeoff.pipeline.commands.work.page import render_page
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import describe_data, own_process_state, read_words, warn_of, write_frame
from bakeoff.pipeline.text.wording import count_nouns, join_words

FRAME_HEIGHT_PIXELS = 680
"""The height of a page in a notebook."""
QUERY_NAME = "query"
COMMAND_KEYS = ("blank", "students", "to", "output", "key")


def work(
    *words: str,
    dataset: Any = None,
    target: str | None = None,
    query: Any = None,
    **keys: Any,
) -> WorkResult:
    """Calculate by hand what a learner predicts from a small table.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE`` as on the command line, each as a separate string.
    dataset, target
        As for `bakeoff.run`.
    query : DataFrame of shape (m, d), mapping, list of mappings, or path, optional
        The row or rows to predict; by default the first row.
    **keys
        Further keys of the command, such as ``learner="knn"``, ``learner__n_neighbors=3``, ``rows=14`` or
        ``rows=[1, 4, 7]``, ``columns=["age"]``, ``validation=[11, 12]`` and ``digits=2``, or ``step="entropy"`` with
        the numbers of a single step.

    Returns
    -------
    WorkResult

    Raises
    ------
    UserError
        The learner or step has no calculation, the table is too large, or a query does not fit it.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [3.0, 4.0, 1.0], "z": [3.0, 3.0, 1.0], "y": ["in", "in", "out"]})
    >>> result = work("learner=perceptron", dataset=frame, target="y", query={"x": 2, "z": 0})
    >>> result
    <WorkResult perceptron on frame by hand: 7 steps, the answer is out>
    >>> result.answer == result.learner_answer
    True
    """
    query_notes: tuple[str, ...] = ()
    if query is not None and not isinstance(query, str | PathLike):
        frame = pd.DataFrame([query] if isinstance(query, Mapping) else query)
        query, query_notes = write_frame(frame, QUERY_NAME)
    data_words, notes = describe_data(dataset, target, None)
    request = read_request("work", WorkRequest, [*data_words, *read_words(words, keys)])
    for key in COMMAND_KEYS:
        if getattr(request, key) != getattr(WorkRequest, key):
            raise UserError(f"{key}= is a key of the command bakeoff work, which writes files; html is the page.")
    if query is not None:
        request = replace(request, query=fspath(query))
    with own_process_state():
        result = WorkResult(calculate(request), request.digits, (*notes, *query_notes))
    warn_of(result.notes)
    return result


@dataclass(frozen=True, repr=False)
class WorkResult:
    """A calculation by hand, beside the learner's own answer.

    Attributes
    ----------
    calculation : HandCalculation
    digits : int
        Decimals of the numbers on the page.
    data_notes : tuple of str
        Notes on the given tables.
    """

    calculation: HandCalculation
    digits: int
    data_notes: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, each with ``sentence``, ``formula``, ``rows``, and ``values``: a dict of names to numbers."""
        return self.calculation.steps

    @property
    def answer(self) -> tuple[Any, ...]:
        """The prediction of the calculation for each query."""
        return self.calculation.answer

    @property
    def learner_answer(self) -> tuple[Any, ...]:
        """The prediction of the learner for each query."""
        return self.calculation.learner_answer

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows, and warnings of the learner."""
        return (*self.data_notes, *self.calculation.notes)

    @property
    def html(self) -> str:
        """The page of the calculation, without links to the network."""
        return render_page(self.calculation, self.digits)

    def __repr__(self) -> str:
        shown = join_words(write_formula(str(each), self.digits) for each in self.answer)
        answer = f", the answer is {shown}" if shown else ""
        return f"<WorkResult {self.calculation.title}: {count_nouns(len(self.steps), 'step')}{answer}>"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {FRAME_HEIGHT_PIXELS}px; border: 0"
        return (
            f'<iframe title="{escape(self.calculation.title)}" style="{style}" srcdoc="{escape(self.html)}"></iframe>'
        )
