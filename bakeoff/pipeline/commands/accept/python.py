"""``bakeoff.accept``: whether a run may replace the champion of a line of tries."""

from typing import Any

from bakeoff.pipeline.commands.accept.judgement import AcceptResult, accept_run
from bakeoff.pipeline.commands.accept.request import AcceptRequest
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
        Further keys of the command: ``tries``, ``alpha``, ``margin``, ``metric``, ``until``, ``repeats``, ``register``
        (``as=`` on the command line), ``dataset``, ``trust``, ``tracking__uri`` and ``tracking__experiment``. The store
        defaults to that of the results.

    Returns
    -------
    AcceptResult

    Raises
    ------
    UserError
        The run cannot be judged by the rules of the line.
    """
    words = [list_run_ids(each)[0] for each in (run, base)]
    store = find_store((run, base), keys)
    with own_process_state():
        return accept_run(AcceptRequest(run=words[0], line=line, base=words[1], **store))
