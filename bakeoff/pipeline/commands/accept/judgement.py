"""The judgement of a run by the rules of a line.

Each configuration is tested once, one-sided, by the corrected resampled t-test on the folds of the line, at the level
alpha / tries. By Bonferroni's bound, the probability that any of the tries is kept without a gain is at most alpha.
`docs/accept.md` has the proof, and what it assumes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.accept.added_folds import Pair, find_added_folds
from bakeoff.pipeline.commands.accept.evidence import Evidence, check_run
from bakeoff.pipeline.commands.accept.final import score_final
from bakeoff.pipeline.commands.accept.line import (
    KEEP,
    NO,
    UNDECIDED,
    Contender,
    Decision,
    Line,
    StoredLine,
    create_line,
    find_lines,
    hold_lines,
    keep_line,
    list_scored,
    read_line,
)
from bakeoff.pipeline.commands.accept.report import list_lines, write_page
from bakeoff.pipeline.commands.accept.request import FINAL, AcceptRequest
from bakeoff.pipeline.commands.significance.folds import (
    CorrectedTTest,
    compute_corrected_t_test,
    find_effect,
    subtract_scores,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.tuning.race import Looks, correct_for_looks
from bakeoff.pipeline.tables.document import make_plain
from bakeoff.pipeline.text.wording import count_nouns, shorten_id
from bakeoff.pipeline.tracking.history import read_runs_of_jobs
from bakeoff.pipeline.tracking.names import find_run_id, parse_model_name, register_version
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import FINISHED

DEFAULT_ALPHA = 0.05


@dataclass(frozen=True, repr=False)
class AcceptResult:
    """What a line answers.

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
    def verdict(self) -> str:
        """``keep``, ``no``, ``undecided``, ``better`` or ``not better`` on the reserved rows, or ``open``."""
        if self.is_final and self.line.final is not None:
            return "better" if self.line.final.is_better else "not better"
        if self.decision is None:
            return "open"
        return self.decision.answer

    @property
    def is_accepted(self) -> bool:
        """Whether nothing was answered with no."""
        return self.verdict in ("keep", "better", "open")

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``to=json``: plain values, numbers unrounded, and None for what is not defined."""
        document: dict[str, Any] = make_plain(
            {
                "verdict": self.verdict,
                "decision": self.decision,
                "n_counted": len(self.line.counted),
                "n_left": self.line.n_left,
                "level": self.line.level,
                "notes": self.notes,
                "sha256": self.digest,
                "line": self.line,
            }
        )
        return document

    def __repr__(self) -> str:
        return "\n".join(list_lines(self.line, self.decision, self.is_final, self.digest))


def accept_run(request: AcceptRequest) -> AcceptResult:
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
        lines = find_lines(store, request.tracking__experiment)
        found = read_line(store, lines[request.line]) if request.line in lines else None
        line = found.line if found else _open_line(request, store, [*lines])
        notes = [] if found else _describe_opening(line)
        if found:
            _require_same_words(request, store, line)
        offered = _check_offer(request, line) if request.run not in ("", FINAL) else None
        line = line.count(
            list_scored(store, line, found.run if found else None), offered.contender.config_hash if offered else ""
        )
        if offered is not None:
            return _judge(request, store, found, line, offered, notes)
        if request.run == FINAL:
            others = [read_line(store, run).line for name, run in lines.items() if name != line.name]
            line = score_final(request, store, line, others)
        stored = _keep(request, store, found, line)
        return AcceptResult(line, stored.digest, is_final=request.run == FINAL, notes=tuple(notes))


def _keep(request: AcceptRequest, store: Store, stored: StoredLine | None, line: Line) -> StoredLine:
    """Write a line that is new or has changed; what is refused before leaves none behind."""
    if stored is None:
        return create_line(store, request.tracking__experiment, line, write_page(line))
    return stored if line == stored.line else keep_line(store, stored.run, line, write_page(line))


def _open_line(request: AcceptRequest, store: Store, names: list[str]) -> Line:
    """Return a line with the rules that are fixed from now on."""
    if not request.base or request.tries is None or request.run == FINAL:
        hint = f" {did_you_mean(request.line, names)}" if names else ""
        raise UserError(f"line={request.line} does not exist; open it with base=RUN tries=100.{hint}")
    base = check_run(request, request.base, request.metric)
    alpha = DEFAULT_ALPHA if request.alpha is None else request.alpha
    contender = base.contender
    line = Line(request.line, request.tries, alpha, request.margin or 0.0, base.rules, contender, contender)
    return replace(line, earlier=tuple(sorted(list_scored(store, line, None) - {contender.config_hash})))


def _describe_opening(line: Line) -> list[str]:
    """Return notes on what can be found, and on what was scored before a line was opened."""
    scores = np.array(line.base.scores)
    gain = _find_gain(scores - scores.mean(), line, line.base.test_train_ratio)
    notes = [
        f"if the differences vary over the {len(scores)} folds as {line.rules.metric} of the base does, a gain of "
        f"{gain:.3g} is found four times of five; fewer tries=, more repeats and more rows find smaller ones"
    ]
    if line.earlier:
        notes.append(
            f"{count_nouns(len(line.earlier), 'configuration')} had been scored on these rows before; if one of them "
            "is offered, all of them count as tries, because it was chosen among them"
        )
    return notes


def _find_gain(differences: np.ndarray, line: Line, ratio: float) -> float:
    """Return the true gain that these folds find with a probability of 80 % at the level of a line."""
    test = compute_corrected_t_test(differences, ratio)
    if test.is_degenerate:
        return math.nan
    # The effect is that of a two-sided test, whose other side has no power.
    return line.margin + find_effect(test.degrees_of_freedom, 2 * line.level) * test.standard_error


def _require_same_words(request: AcceptRequest, store: Store, line: Line) -> None:
    """Reject words that would change the rules of a line."""
    words = {
        "tries": (request.tries, line.tries),
        "alpha": (request.alpha, line.alpha),
        "margin": (request.margin, line.margin),
        "metric": (request.metric, line.rules.metric),
        "base": (request.base and find_run_id(store, request.base), line.base.run_id),
    }
    for key, (given, fixed) in words.items():
        if given not in (None, "", fixed):
            raise UserError(
                f"{key}={given}: line {line.name} was opened with {key}={fixed}, which is fixed; leave {key}= out, or "
                "give a new line another name."
            )


def _check_offer(request: AcceptRequest, line: Line) -> Evidence:
    """Return the run that is offered to a line, which may be judged by its rules."""
    if request.register:
        parse_model_name(request.register, "as")
    offered = check_run(request, request.run, line.rules.metric)
    run_id = offered.contender.run_id
    if offered.contender.config_hash in line.repeats:
        raise UserError(
            f"run {run_id} is a repeat of the folds of another run, which until=sure ran; offer that run, by its id."
        )
    if broken := next(_list_broken(line, offered), ""):
        raise UserError(
            f"run {run_id} has other {broken}. Run it as the champion was, {line.champion.command}, or open a new line."
        )
    if offered.contender.config_hash == line.base.config_hash:
        raise UserError(f"run {run_id} has the configuration of the base of line {line.name}; offer another one.")
    if request.register and not offered.run.stored.model_id:
        raise UserError(
            f"as={request.register}: run {run_id} has stored no model; leave as= out, or use `bakeoff ship`."
        )
    return offered


def _list_broken(line: Line, offered: Evidence) -> Iterator[str]:
    """Yield the rules of a line that a run does not share."""
    given = asdict(offered.rules)
    for what, fixed in asdict(line.rules).items():
        # The file of the same rows may have been renamed.
        if given[what] != fixed and what != "dataset":
            yield f"{what} than line {line.name}: {given[what] or 'none'} instead of {fixed or 'none'}"


def _judge(
    request: AcceptRequest, store: Store, found: StoredLine | None, line: Line, offered: Evidence, notes: list[str]
) -> AcceptResult:
    """Return the answer to a run, which is given once for each configuration."""
    contender = offered.contender
    notes = [*notes, *filter(None, [offered.note])]
    given = next((each for each in line.decisions if each.config_hash == contender.config_hash), None)
    if given is not None:
        notes.append(f"this configuration was judged before, at try {given.number}; its answer is given once")
        stored = _keep(request, store, found, line)
        return AcceptResult(line, stored.digest, given, notes=tuple(notes))
    decision = decide(line, (line.champion, contender))
    _require_open(store, line, decision)
    _require_same_looks(request, line, contender)
    if request.is_until_sure:
        folds = find_added_folds(request, line, offered)
        # The jobs are listed before they run, so that they count as no tries, even if this process is killed.
        line = replace(
            line,
            repeats=tuple({*line.repeats, *folds.identify_jobs()}),
            begun={**line.begun, contender.config_hash: request.repeats},
        )
        found = _keep(request, store, found, line)
        decision = folds.decide(partial(decide, line))
    stored = _keep(request, store, found, line.decide(decision, contender))
    n_repeats = sum(run.status == FINISHED for run in read_runs_of_jobs(store, [contender.config_hash])) - 1
    if n_repeats:
        notes.append(f"{count_nouns(n_repeats, 'other run')} of this configuration did not count again")
    if request.register and decision.is_kept:
        name = parse_model_name(request.register, "as")
        model = register_version(store, name, offered.run.stored.model_id, contender.run_id)
        notes.append(f"registered as {model.name}, version {model.version}: {request.register}")
    return AcceptResult(stored.line, stored.digest, decision, notes=tuple(notes))


def _require_open(store: Store, line: Line, decision: Decision) -> None:
    """Reject a line that has ended or is used up, or whose champion is gone."""
    if line.final is not None:
        raise UserError(f"line {line.name} has ended: its reserved rows were scored. Open a new line on new data.")
    champion = line.champion
    runs = read_runs_of_jobs(store, [champion.config_hash])
    if not any(run.status == FINISHED and not run.is_deleted for run in runs):
        raise UserError(
            f"the champion of line {line.name}, run {champion.run_id}, was deleted; restore it in MLflow, or run it "
            f"again: {champion.command}"
        )
    if decision.number > line.tries:
        final = f"`bakeoff accept final line={line.name}` scores the champion on the reserved rows. "
        raise UserError(
            f"line {line.name} has used up its {line.tries} tries: {len(line.counted)} configurations have been scored "
            f"on these rows, and run {shorten_id(decision.run_id)} is try {decision.number}. "
            f"{final if line.rules.reserve else ''}Open a new line on new data, or here with a smaller level, such as "
            f"line={line.name}-2 alpha={line.alpha / 2:g}."
        )


def _require_same_looks(request: AcceptRequest, line: Line, contender: Contender) -> None:
    """Reject other looks at a run than those that have begun: its first p-values were shown, and may have chosen them.

    Raises
    ------
    UserError
        It names the words that continue.
    """
    repeats = line.begun.get(contender.config_hash)
    if repeats is not None and (not request.is_until_sure or request.repeats != repeats):
        raise UserError(
            f"run {contender.run_id} was offered to line {line.name} with until=sure repeats={repeats}, which was "
            f"interrupted after p-values had been shown; give until=sure repeats={repeats} again."
        )


def decide(line: Line, pair: Pair, looks: Looks = ()) -> Decision:
    """Test whether a contender is better than the champion of a line by more than the margin.

    Parameters
    ----------
    line : Line
        In which the contender is counted.
    pair : tuple of Contender
        The champion and the contender, on the same folds.
    looks : tuple of int
        The numbers of folds after which the contender is tested; by default, once.

    Returns
    -------
    Decision
    """
    champion, contender = pair
    gains = subtract_scores(np.array(contender.scores), np.array(champion.scores))  # (J,)
    gains = gains if line.rules.greater_is_better else -gains
    ratio = max(contender.test_train_ratio, champion.test_train_ratio)
    test = compute_corrected_t_test(gains - line.margin, ratio, 1 - line.alpha)
    p = _find_one_sided_p(test, looks)
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
        n_folds=len(gains),
        answer=_answer(p, line.level, test, looks),
    )


def _find_one_sided_p(test: CorrectedTTest, looks: Looks) -> float:
    """Return the p-value of no gain, corrected for all looks."""
    # Equal gains in all folds do not show how much chance moves them.
    if test.is_degenerate:
        return 1.0
    p = float(correct_for_looks(np.array([test.p]), looks or (0,), test.ratio)[0])
    return p / 2 if test.statistic > 0 else 1 - p / 2


def _answer(p: float, level: float, test: CorrectedTTest, looks: Looks) -> str:
    """Return `KEEP`, `NO` if further folds will hardly lead to a keep, or `UNDECIDED`."""
    if p < level:
        return KEEP
    if not looks:
        return NO
    n_all, ratio = max(looks), test.ratio
    if test.is_degenerate or test.n_folds == n_all:
        return UNDECIDED
    # The folds to come move the mean by at most two of its standard deviations, in nearly all cases.
    deviation = test.standard_error / math.sqrt(1 / test.n_folds + ratio)
    reachable = test.mean + 2 * deviation * math.sqrt(1 / test.n_folds - 1 / n_all)
    needed = stats.t.isf(level, n_all - 1) * deviation * math.sqrt(1 / n_all + ratio)
    return UNDECIDED if reachable >= needed else NO
