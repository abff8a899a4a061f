"""``bakeoff.diff`` and ``bakeoff.ablate``: which of several changes matter, with the numbers as pandas tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any

from bakeoff.pipeline.commands.compare.request import require_choice
from bakeoff.pipeline.commands.diff import ablation
from bakeoff.pipeline.commands.diff.difference import Findings, explain_difference
from bakeoff.pipeline.commands.diff.request import AblateRequest, DiffRequest, ReportRequest
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.trust import is_trust_word, read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import find_source, own_process_state, read_words, show_html, write_command
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import find_store, list_run_ids


def diff(
    a: str | RunResult,
    b: str | RunResult,
    *words: str,
    config_dir: str | PathLike[str] | None = None,
    keep: bool = False,
    **keys: Any,
) -> DifferenceResult:
    """Explain why two runs differ: the effect of each change between them, and the rows predicted differently.

    Parameters
    ----------
    a, b : str or RunResult
        Runs, as results, ids or at least the first 8 characters of ids, ``latest``, ``best``, or registered models.
    *words : str
        Words of the sweep of hybrids and of another evaluation, such as ``"workers=2"``.
    config_dir : path, optional
        A folder with user-defined options.
    keep : bool
        Whether to store the reports as a run.
    **keys
        Further keys of the command: ``alpha``, ``dataset``, ``sweep``, ``trust``, ``tracking__uri``,
        ``tracking__experiment``, and those of the sweep and the evaluation: ``workers=2``,
        ``evaluation="repeated_kfold"``.

    Returns
    -------
    DifferenceResult

    Raises
    ------
    UserError
        The runs cannot be compared, or a hybrid is invalid or failed; those that finished are kept.
    """

    def explain(request: Any, overrides: Sequence[str], source: ConfigSource) -> Findings:
        command = write_command(overrides, source, "diff", request.a, request.b)
        return explain_difference(request, overrides, source, command, quiet=True)

    names = {"a": list_run_ids(a)[0], "b": list_run_ids(b)[0]}
    return _explain(explain, DiffRequest, names, (a, b), words, find_source(config_dir), keys, keep=keep)


def ablate(
    run: str | RunResult,
    *words: str,
    columns: bool | Sequence[Any] = False,
    config_dir: str | PathLike[str] | None = None,
    keep: bool = False,
    **keys: Any,
) -> DifferenceResult:
    """Show which options of a run matter: each that differs from its default is set back, one at a time.

    Parameters
    ----------
    run : str or RunResult
    *words : str
        As for `diff`.
    columns : bool or sequence
        Leaves out columns instead: True for each column, or groups such as ``[["age", "sex"], ["fare"]]``.
    config_dir, keep, **keys
        As for `diff`.

    Returns
    -------
    DifferenceResult
        Its effects are those of setting a key back.

    Raises
    ------
    UserError
        The run cannot be repeated, nothing can be taken out, or a job is invalid or failed.
    """

    def explain(request: Any, overrides: Sequence[str], source: ConfigSource) -> Findings:
        command = write_command(overrides, source, "ablate", request.run)
        found = ablation.ablate(request, overrides, source, command, quiet=True)
        assert found is not None, "only commands show plans"
        return found

    names = {
        "run": list_run_ids(run)[0],
        "columns": str(columns).lower() if isinstance(columns, bool) else str(columns),
    }
    return _explain(explain, AblateRequest, names, (run,), words, find_source(config_dir), keys, keep=keep)


def _explain(
    explain: Callable[[Any, Sequence[str], ConfigSource], Findings],
    request: type[ReportRequest],
    names: Mapping[str, Any],
    runs: Sequence[str | RunResult],
    words: Sequence[str],
    source: ConfigSource,
    keys: dict[str, Any],
    *,
    keep: bool,
) -> DifferenceResult:
    """Divide keys between a request and its sweep, and make the result."""
    own_names = {field.name for field in fields(request)}
    own = find_store(runs, {name: value for name, value in keys.items() if name in own_names})
    further = read_words(words, {name: value for name, value in keys.items() if name not in own_names})
    overrides = [word for word in further if not is_trust_word(word)]
    if "dry_run=true" in [word.lower() for word in overrides]:
        raise UserError("dry_run=true shows a plan, which is an output of the command; leave it out.")
    trust = read_trust(own.get("trust", ""))
    made: ReportRequest = request(**{**names, **own, "trust": trust, "keep": keep})
    with own_process_state():
        findings = explain(made, overrides, source)
        run_id = findings.keep(made.tracking__experiment) if keep else None
        return DifferenceResult(**vars(findings), run_id=run_id)


@dataclass(frozen=True, repr=False)
class DifferenceResult(Findings):
    """The effects of changes between configurations.

    Attributes
    ----------
    difference : float
        The difference of the mean headline scores, b minus a; of `ablate`, that of the simpler configuration.
    changes : DataFrame
        A row for each change, with key, before, after, effect, low, high and p_value.
    rows : DataFrame
        A row for each test row whose prediction changed, with row, truth, before and after.
    groups : DataFrame
        What the rows that became worse have in common.
    run_id : str or None
        The run that stores the reports, if ``keep=True``.
    """

    run_id: str | None = None

    @property
    def verdict(self) -> str:
        """The verdict in sentences, one per line."""
        return "\n".join(self.report.verdict)

    def render(self, to: str) -> str:
        """Return a report.

        Parameters
        ----------
        to : {"terminal", "csv", "json", "markdown", "latex", "html"}

        Raises
        ------
        UserError
            The format does not exist.
        """
        require_choice("to", to)
        return super().render(to)

    def __repr__(self) -> str:
        return f"<DifferenceResult: {self.report.verdict[0]}>"

    def _repr_html_(self) -> str:
        return show_html(repr(self), [self.changes, self.groups], [*self.report.verdict, *self.report.notes])
