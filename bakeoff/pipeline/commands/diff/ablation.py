"""Which options of a run matter: each option or column is taken out, and the score is compared with that of the run."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from functools import partial
from itertools import chain

from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric
from bakeoff.pipeline.commands.diff.changes import (
    COLUMNS_KEY,
    DATA,
    LEARNER,
    MIXED_PARTS,
    NONE,
    Change,
    Mixture,
    Variant,
    find_changes,
)
from bakeoff.pipeline.commands.diff.effects import Changes, Effect, estimate_effects
from bakeoff.pipeline.commands.diff.hybrids import HybridSweep, find_ratio, prepare_sweep, separate_changes
from bakeoff.pipeline.commands.diff.request import AblateRequest
from bakeoff.pipeline.commands.diff.result import DifferenceResult, MeasuredChange, describe_effect, tabulate_effects
from bakeoff.pipeline.commands.significance.folds import subtract_scores
from bakeoff.pipeline.config.compose_job import compose_job, compose_parts
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.options import load_yaml, read_option
from bakeoff.pipeline.config.settle import NOT_CHOSEN, settle_choices, settle_config
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tables.report import Report
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns, join_words

SINGLE_SPLIT = (
    "With one split there are no p-values, and no simpler configuration is chosen; evaluation=repeated_kfold runs the "
    "configurations on 100 splits."
)


def ablate(
    request: AblateRequest, words: Sequence[str], source: ConfigSource, command: str, *, quiet: bool = False
) -> DifferenceResult | None:
    """Take out the options of a run one at a time, and run the simpler configuration that follows.

    Parameters
    ----------
    request : AblateRequest
    words : sequence of str
        Overrides of the sweep, and of the evaluation.
    source : ConfigSource
    command : str
    quiet : bool
        Whether to print nothing.

    Returns
    -------
    DifferenceResult or None
        None if only the plan was requested.

    Raises
    ------
    UserError
        The run cannot be repeated, nothing can be taken out, or a job is invalid or failed.
    """
    sweep = prepare_sweep("ablate", [request.run], request, words, source, quiet=quiet)
    (run,) = sweep.runs
    removal = _plan_removal(request, sweep)
    measure = partial(_measure_removals, sweep, removal, request.alpha)
    effects = measure([frozenset([i]) for i in range(len(removal.changes))])
    if effects is None:
        return None
    measured = list(zip(removal.changes, effects, strict=True))
    verdict = [_count_effects(measured, request.alpha)]
    difference = math.nan
    weak = frozenset(i for i, effect in enumerate(effects) if effect.p_value > request.alpha)
    simpler = measure([weak]) if weak else None
    if simpler is not None:
        (effect,) = simpler
        difference = effect.mean
        verdict += _describe_simpler(removal, weak, effect, sweep.metric, request.alpha)
    sign = 1 if sweep.metric.greater_is_better else -1
    measured.sort(key=lambda each: sign * each[1].mean)
    place = f"run {run.run_id} in {hide_secrets(sweep.store.uri)}"
    report = Report(
        question=f"Which options of {run.name} matter?",
        selection=f"{place}; an effect is measured by leaving out an option or a column",
        verdict=verdict,
        sections=[(tabulate_effects(measured, sweep.metric), [])],
        notes=[] if effects[0].is_tested else [SINGLE_SPLIT],
        command=hide_secrets(command),
    )
    return DifferenceResult("ablation", report, [run], sweep.store, measured, difference)


def _measure_removals(
    sweep: HybridSweep, removal: Mixture, alpha: float, hybrids: Sequence[Changes]
) -> list[Effect] | None:
    """Run hybrids and the configuration of the run itself, and return the effect of each hybrid; None for a plan."""
    evaluated = sweep.evaluate(removal, [frozenset(), *hybrids])
    if evaluated is None:
        return None
    runs, scores = evaluated
    return estimate_effects(subtract_scores(scores[1:], scores[0]), find_ratio(runs), alpha)


def _plan_removal(request: AblateRequest, sweep: HybridSweep) -> Mixture:
    """Return the columns or the options to take out."""
    start = sweep.start
    groups = read_groups(request.columns, list(map(str, sweep.dataset.X.columns)))
    if groups:
        if COLUMNS_KEY not in start.spec[DATA]:
            raise UserError("columns=: the columns of a dataset shipped with bakeoff cannot be left out; use a file.")
        return Mixture(start, start, [Change(", ".join(group), "used", "left out", (), group) for group in groups])
    removal = separate_changes(start, make_default(start))
    if not removal.changes:
        run_id = sweep.runs[0].run_id
        raise UserError(f"run {run_id} has the default of each option; columns=true leaves out columns instead.")
    return removal


def read_groups(text: str, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of columns in the value of ``columns``.

    Parameters
    ----------
    text : str
        ``false``, ``true`` for each column, or a list of names and of lists of names.
    names : sequence of str
        The columns of the dataset.

    Raises
    ------
    UserError
        A name is not a column.

    Examples
    --------
    >>> read_groups("[[age,sex],[fare]]", ["age", "sex", "fare"])
    [('age', 'sex'), ('fare',)]
    """
    if text == "false":
        return []
    given = list(names) if text == "true" else load_yaml(text, "columns")
    if not isinstance(given, list) or not given or [] in given:
        raise UserError(f"columns={text!r} must be true, or groups such as [[age,sex],[fare]].")
    groups = [tuple(map(str, each)) if isinstance(each, list) else (str(each),) for each in given]
    for name in chain.from_iterable(groups):
        if name not in names:
            raise UserError(f"columns={text}: {name} is not a column of the dataset. {did_you_mean(name, names)}")
    return groups


def make_default(variant: Variant) -> Variant:
    """Return a configuration with the dataset, learner and evaluation of another one, and defaults otherwise."""
    learner = variant.choices[LEARNER]
    is_option = bool(read_option(LEARNER, learner))
    keys = [part for part in MIXED_PARTS if part != DATA and (part != LEARNER or is_option)]
    parts = compose_parts([f"{LEARNER}={learner}"] if is_option else [], keys)
    settled = settle_config({**variant.spec, **parts})
    choices = {**dict.fromkeys(keys, NONE), LEARNER: learner, "pruning": str(settled["pruning"].get("method", NONE))}
    return Variant(settled, settle_choices(settled, {**choices, "preprocessing": NOT_CHOSEN}))


def _count_effects(measured: Sequence[MeasuredChange], alpha: float) -> str:
    told_apart = [change.key for change, effect in measured if effect.p_value <= alpha]
    if not told_apart:
        return f"No effect can be told apart from 0 ({count_nouns(len(measured), 'effect')} measured)."
    counts = f"{len(told_apart)} of {count_nouns(len(measured), 'effect')}"
    return f"{counts} can be told apart from 0: {join_words(told_apart)}."


def _describe_simpler(
    removal: Mixture, weak: Changes, effect: Effect, metric: ComparedMetric, alpha: float
) -> list[str]:
    """Return sentences on the configuration whose weak options are set back, or without its weak columns."""
    standing = "cannot be told apart from the run"
    if effect.p_value <= alpha:
        is_better = (effect.mean > 0) == metric.greater_is_better
        standing = "is better than the run" if is_better else "is worse than the run"
    names = join_words(removal.changes[i].key for i in sorted(weak))
    command = shlex.join(["bakeoff", *write_words(removal.make_hybrid(weak))])
    manner = "Without" if removal.changes[0].columns else "With the default of"
    return [
        f"{manner} {names}, the configuration {standing}: {describe_effect(effect)}.",
        f"Its command: {command}",
    ]


def write_words(variant: Variant) -> list[str]:
    """Return words that compose a configuration: its overrides, and each key in which these do not lead to it."""
    composed = Variant(compose_job(variant.overrides).spec, variant.choices, variant.overrides)
    changes = find_changes(composed, variant)
    return list(Mixture(composed, variant, changes).make_hybrid(range(len(changes))).overrides)
