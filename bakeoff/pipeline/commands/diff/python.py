"""``bakeoff.diff`` and ``bakeoff.ablate``: which of several changes matter, with the numbers as pandas tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any

from bakeoff.pipeline.commands.diff import ablation
from bakeoff.pipeline.commands.diff.difference import explain_difference
from bakeoff.pipeline.commands.diff.request import AblateRequest, DiffRequest, ReportRequest
from bakeoff.pipeline.commands.diff.result import DifferenceResult
from bakeoff.pipeline.config.trust import is_trust_word, read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import find_source, own_process_state, read_words, write_command
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
    return _explain("diff", explain_difference, DiffRequest, {"a": a, "b": b}, words, config_dir, keys, keep=keep)


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
        Each effect is that of setting a key back, or of leaving columns out.

    Raises
    ------
    UserError
        The run cannot be repeated, nothing can be taken out, or a job is invalid or failed.
    """
    keys["columns"] = str(columns).lower() if isinstance(columns, bool) else str(columns)
    return _explain("ablate", ablation.ablate, AblateRequest, {"run": run}, words, config_dir, keys, keep=keep)


def _explain(
    verb: str,
    explain: Callable[..., DifferenceResult | None],
    request: type[ReportRequest],
    runs: Mapping[str, str | RunResult],
    words: Sequence[str],
    config_dir: str | PathLike[str] | None,
    keys: Mapping[str, Any],
    *,
    keep: bool,
) -> DifferenceResult:
    """Divide keys between a request and its sweep, and return what the request finds."""
    own_names = {field.name for field in fields(request)}
    own = find_store(list(runs.values()), {name: value for name, value in keys.items() if name in own_names})
    further = read_words(words, {name: value for name, value in keys.items() if name not in own_names})
    overrides = [word for word in further if not is_trust_word(word)]
    if "dry_run=true" in [word.lower() for word in overrides]:
        raise UserError("dry_run=true shows a plan, which is an output of the command; leave it out.")
    ids = {name: list_run_ids(run)[0] for name, run in runs.items()}
    made = request(**{**ids, **own, "trust": read_trust(own.get("trust", "")), "keep": keep})
    source = find_source(config_dir)
    command = write_command(overrides, source, verb, *ids.values())
    with own_process_state():
        found = explain(made, overrides, source, command, quiet=True)
        assert found is not None, "only commands show plans"
        return found.keep(made.tracking__experiment) if keep else found
