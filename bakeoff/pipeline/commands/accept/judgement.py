"""The judgement of a run by the rules of a line.

Each configuration is tested once, one-sided, by the corrected resampled t-test on the folds of the line, at the level
alpha / tries. By Bonferroni's bound, the probability that any of the tries is kept without a gain is at most alpha.
`docs/accept.md` has the proof, and what it assumes.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.accept.command import FINAL, AcceptRequest
from bakeoff.pipeline.commands.accept.evidence import Evidence, check_run
from bakeoff.pipeline.commands.accept.final import score_final
from bakeoff.pipeline.commands.accept.line import (
    Contender,
    Decision,
    Line,
    StoredLine,
    create_line,
    find_line,
    hold_lines,
    keep_line,
    list_names,
    list_others,
    list_scored,
    open_lines,
    tell_time,
)
from bakeoff.pipeline.commands.accept.report import write_page
from bakeoff.pipeline.commands.compare.hypothesis_tests import compute_corrected_t_test, find_effect, subtract_scores
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import count_nouns, shorten_id
from bakeoff.pipeline.tracking.history import read_runs_of_jobs
from bakeoff.pipeline.tracking.names import find_run_id, is_greater_better, parse_model_name, register_version
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import FINISHED

DEFAULT_ALPHA = 0.05
OPENING_KEYS = ("tries", "alpha", "margin", "metric")
"""The words that a line fixes, besides its base."""


@dataclass(frozen=True)
class Answer:
    """What a command about a line answers.

    Attributes
    ----------
    line : Line
    digest : str
        The SHA-256 digest of the file of the line.
    decision : Decision or None
        On the run that was offered.
    is_final : bool
        Whether the reserved rows were asked for.
    notes : tuple of str
    """

    line: Line
    digest: str
    decision: Decision | None = None
    is_final: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether nothing was answered with no."""
        if self.is_final:
            return self.line.final is not None and self.line.final.is_better
        return self.decision is None or self.decision.is_kept


def accept_run(request: AcceptRequest) -> Answer:
    """Open a line, list it, judge a run by it, or end it on its reserved rows.

    Parameters
    ----------
    request : AcceptRequest

    Raises
    ------
    UserError
        The line does not exist, was changed or is used up, or the run breaks one of its rules.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    with hold_lines(store):
        own = open_lines(store, request.tracking__experiment)
        found = find_line(own, request.line)
        if found is None:
            line, notes = _open_line(request, store, own)
        else:
            line, notes = found.line, []
            _require_same_words(request, store, line)
        is_offer = request.run not in ("", FINAL)
        # What is refused leaves no line behind.
        offered = _check_offer(request, line) if is_offer else None
        stored = found or create_line(own, line, write_page(line))
        offered_hash = offered.contender.config_hash if offered else ""
        stored = _keep(own, stored, line.count(list_scored(store, line, stored), offered_hash))
        if offered is not None:
            return _judge(request, own, stored, offered, notes)
        if request.run == FINAL:
            stored = _keep(own, stored, score_final(request, store, stored.line))
        return Answer(stored.line, stored.digest, is_final=request.run == FINAL, notes=tuple(notes))


def _keep(own: Store, stored: StoredLine, line: Line) -> StoredLine:
    return stored if line == stored.line else keep_line(own, stored, line, write_page(line))


def _open_line(request: AcceptRequest, store: Store, own: Store) -> tuple[Line, list[str]]:
    """Return a line with the rules that are fixed from now on, and notes on it."""
    if not request.base or request.tries is None or request.run == FINAL:
        names = list_names(own)
        hint = f" {did_you_mean(request.line, names)}" if names else ""
        raise UserError(f"line={request.line} does not exist; open it with base=RUN tries=100.{hint}")
    _, base = check_run(request, request.base, request.metric)
    run = base.run
    line = Line(
        name=request.line,
        opened=tell_time(),
        tries=request.tries,
        alpha=DEFAULT_ALPHA if request.alpha is None else request.alpha,
        margin=request.margin or 0.0,
        metric=base.metric,
        definition=base.definition,
        is_greater_better=is_greater_better(f"test_{base.metric}", run.stored.params),
        dataset=run.experiment.dataset.name,
        dataset_digest=run.experiment.dataset.digest(),
        splits_digest=run.splits.digest(),
        versions=run.stored.tags.get("versions", ""),
        reserve=base.reserve,
        base=base.contender,
        champion=base.contender,
    )
    earlier = list_scored(store, line) - {base.contender.config_hash}
    line = replace(line, earlier=tuple(sorted(earlier)))
    notes = [*base.notes, _describe_power(line)]
    if earlier:
        notes.append(
            f"{count_nouns(len(earlier), 'configuration')} had been scored on these rows before; if one of them is "
            "offered, all of them count as tries, because it was chosen among them"
        )
    for other in list_others(own, line):
        notes.append(
            f"line {other.name} on the same rows has counted {count_nouns(len(other.counted), 'try', 'tries')}; each "
            "line has an alpha of its own"
        )
    return line, notes


def _describe_power(line: Line) -> str:
    """Return the gain that can be found, if the differences vary over the folds as the scores of the base do."""
    scores = np.array(line.base.scores)
    gain = _find_gain(scores - scores.mean(), line, line.base.test_train_ratio)
    return (
        f"if the differences vary over the {len(scores)} folds as {line.metric} of the base does, a gain of "
        f"{gain:.3g} is found four times of five; fewer tries=, more repeats and more rows find smaller ones"
    )


def _find_gain(differences: np.ndarray, line: Line, ratio: float) -> float:
    """Return the true gain that these folds find with a probability of 80 % at the level of a line."""
    test = compute_corrected_t_test(differences, ratio)
    if test.is_degenerate:
        return math.nan
    # The effect is that of a two-sided test, whose other side has no power.
    return line.margin + find_effect(test.degrees_of_freedom, 2 * line.level) * test.standard_error


def _require_same_words(request: AcceptRequest, store: Store, line: Line) -> None:
    """Reject words that would change the rules of a line."""
    fixed = {key: getattr(line, key) for key in OPENING_KEYS}
    given = {key: getattr(request, key) for key in OPENING_KEYS}
    if request.base:
        fixed["base"], given["base"] = line.base.run_id, find_run_id(store, request.base)
    for key, value in given.items():
        if value not in (None, "", fixed[key]):
            raise UserError(
                f"{key}={value}: line {line.name} was opened with {key}={fixed[key]}, which is fixed; leave {key}= "
                "out, or give a new line another name."
            )


def _check_offer(request: AcceptRequest, line: Line) -> Evidence:
    """Return the run that is offered to a line, which may be judged by its rules."""
    if request.register:
        parse_model_name(request.register, "as")
    _, offered = check_run(request, request.run, line.metric)
    _require_rules(line, offered)
    if request.register and not offered.run.stored.model_id:
        run_id = offered.contender.run_id
        raise UserError(
            f"as={request.register}: run {run_id} has stored no model; leave as= out, or use `bakeoff ship`."
        )
    return offered


def _judge(request: AcceptRequest, own: Store, stored: StoredLine, offered: Evidence, notes: list[str]) -> Answer:
    """Return the answer to a run, which is given once for each configuration."""
    line, contender = stored.line, offered.contender
    notes = [*notes, *offered.notes]
    given = line.find_decision(contender.config_hash)
    if given is not None:
        notes.append(f"this configuration was judged before, at try {given.number}; its answer is given once")
        return Answer(line, stored.digest, given, notes=tuple(notes))
    _require_open(own, line)
    decision = decide(line, contender)
    _require_tries(line, decision)
    stored = _keep(own, stored, line.decide(decision, contender))
    n_repeats = sum(run.status == FINISHED for run in read_runs_of_jobs(own, [contender.config_hash])) - 1
    if n_repeats > 0:
        notes.append(f"{count_nouns(n_repeats, 'other run')} of this configuration did not count again")
    if request.register and decision.is_kept:
        name = parse_model_name(request.register, "as")
        model = register_version(own, name, offered.run.stored.model_id, contender.run_id)
        notes.append(f"registered as {model.name}, version {model.version}: {request.register}")
    return Answer(stored.line, stored.digest, decision, notes=tuple(notes))


def _require_rules(line: Line, offered: Evidence) -> None:
    """Reject a run with other data, folds, costs or versions than the line, or that is a champion."""
    run, contender = offered.run, offered.contender
    now: dict[str, tuple[Any, Any]] = {
        "data": (line.dataset_digest, run.experiment.dataset.digest()),
        "reserve": (line.reserve, offered.reserve),
        "folds": (line.splits_digest, run.splits.digest()),
        f"definition of {line.metric}": (line.definition, offered.definition),
        "versions": (json.loads(line.versions or "{}"), json.loads(run.stored.tags.get("versions", "{}"))),
    }
    for what, (fixed, given) in now.items():
        if fixed != given:
            raise UserError(
                f"run {contender.run_id} has another {what} than line {line.name}: {given or 'none'} instead of "
                f"{fixed or 'none'}. Run it as the champion was ({line.champion.command}), or open a new line."
            )
    if contender.config_hash == line.base.config_hash:
        raise UserError(
            f"run {contender.run_id} has the configuration of the base of line {line.name}; offer a run that differs "
            "from it."
        )


def _require_open(store: Store, line: Line) -> None:
    """Reject a line that has ended, or whose champion is gone."""
    if line.final is not None:
        raise UserError(
            f"line {line.name} has ended: its reserved rows were scored. Go on with new data and a new line."
        )
    champion = line.champion
    runs = read_runs_of_jobs(store, [champion.config_hash])
    if not any(run.status == FINISHED and not run.is_deleted for run in runs):
        raise UserError(
            f"the champion of line {line.name}, run {champion.run_id}, was deleted; restore it in MLflow, or run it "
            f"again: {champion.command}"
        )


def _require_tries(line: Line, decision: Decision) -> None:
    """Reject a configuration that was scored after the tries of a line were used up."""
    if decision.number > line.tries:
        final = f"`bakeoff accept final line={line.name}` scores the champion on the reserved rows, or " * bool(
            line.reserve
        )
        raise UserError(
            f"line {line.name} has used up its {line.tries} tries: {len(line.counted)} configurations have been scored "
            f"on these rows, and run {shorten_id(decision.run_id)} is try {decision.number}. {final}open a new line on "
            f"new data, or here with a smaller level, such as line={line.name}-2 alpha={line.alpha / 2:g}."
        )


def decide(line: Line, contender: Contender) -> Decision:
    """Test whether a contender is better than the champion of a line by more than the margin.

    Parameters
    ----------
    line : Line
        In which the contender is counted.
    contender : Contender

    Returns
    -------
    Decision
    """
    champion = line.champion
    gains = subtract_scores(np.array(contender.scores), np.array(champion.scores))  # (J,)
    gains = gains if line.is_greater_better else -gains
    ratio = max(contender.test_train_ratio, champion.test_train_ratio)
    test = compute_corrected_t_test(gains - line.margin, ratio, 1 - line.alpha)
    # Equal gains in all folds do not show how much chance moves them.
    p = 1.0 if test.is_degenerate else test.p / 2 if test.statistic > 0 else 1 - test.p / 2
    return Decision(
        run_id=contender.run_id,
        config_hash=contender.config_hash,
        name=contender.name,
        number=line.counted.index(contender.config_hash) + 1,
        champion=champion.run_id,
        difference=test.mean + line.margin,
        lower=test.lower + line.margin,
        upper=test.upper + line.margin,
        p=p,
        level=line.level,
        findable=_find_gain(gains - line.margin, line, ratio),
        is_kept=p < line.level,
    )
