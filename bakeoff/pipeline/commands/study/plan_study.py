"""`bakeoff plan … difference=0.01`: how large a study must be, before it runs.

The spread of the differences of two configurations over folds is that of finished runs with the same dataset and
evaluation; a plan without such runs names the command of a pilot.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from bakeoff.pipeline.commands.compare.cells import score_runs
from bakeoff.pipeline.commands.compare.request import (
    DIFFERENCES,
    LEVELS,
    SHARES,
    TABLE_EXTENSIONS,
    CompareRequest,
    read_numbers,
)
from bakeoff.pipeline.commands.compare.run_grid import UNPAIRED_KEYS, RunFacts, describe_run, group_by
from bakeoff.pipeline.commands.compare.stored_comparison import make_comparison
from bakeoff.pipeline.commands.study.study_size import (
    TIMES,
    Finding,
    Pairs,
    PilotItems,
    PlannedFolds,
    collect_numbers,
    describe_folds,
    describe_sizes,
    measure_folds,
)
from bakeoff.pipeline.config.requests import Request, Word, read_request
from bakeoff.pipeline.config.words import read_list
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.sweep.request import find_status, run_sweep
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns, join_words, show_in_line
from bakeoff.pipeline.tracking.run import get_tracker
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import IS_FINISHED, search_runs, write_condition

DIFFERENCE = "difference"
TABLE_KEYS = ("item", "cluster", "items", "metric", "greater_is_better", "alpha")
OWN_KEYS = (*TABLE_KEYS, "metrics")
"""Keys of the comparison; all others are keys of the sweep."""
REPEATS = "evaluation.repeats"
FREE_KEYS = (*UNPAIRED_KEYS, REPEATS, "evaluation.first_repeat", "evaluation.train_metrics", "evaluation._target_")
"""Keys of an evaluation in which a pilot may differ from the study."""
KEPT = ("evaluation.", "dataset.", "tracking")
"""Words of a study that begin so are those of its pilot, too."""
MAX_PILOT_RUNS = 500
"""The number of the newest runs on a dataset that are searched for a pilot."""
MANY_ITEMS = 10_000
ROUNDING = 1e-9


def plan_study(words: Sequence[str]) -> int | Answer:
    """Say how large a study must be: of planned jobs, by the table of a pilot, or by two rates.

    Raises
    ------
    UserError
        The command line is invalid, or the spread of differences is not known.
    """
    if any(word.startswith("rates=") for word in words):
        return _print_findings([_plan_rates(read_request("plan", RatesRequest, words))])
    own, others = _divide_words(words)
    request = read_request("plan", CompareRequest, own)
    if request.table is not None:
        if others:
            keys = join_words((DIFFERENCE, *TABLE_KEYS))
            raise UserError(f"{others[0]}: with {request.table.name}, the keys of plan are {keys}; leave others out.")
        return _print_findings(describe_sizes(make_comparison(replace(request, keep=False)), request.differences))
    report = run_sweep([*others, "dry_run=true"])
    if report is None or report.is_refused:
        return find_status(report)
    return _print_findings(_plan_jobs(request, report.plan.jobs))


def _divide_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of the comparison, whose key of the differences is ``plan``, and those of the sweep."""
    own: list[str] = []
    others: list[str] = []
    for word in words:
        key, sign, value = word.partition("=")
        if key == DIFFERENCE:
            read_numbers(key, read_list(value), DIFFERENCES)
            own.append(f"plan={value}")
        else:
            is_own = key in OWN_KEYS if sign else word.endswith(TABLE_EXTENSIONS)
            (own if is_own else others).append(word)
    if any(word.startswith("seal=") for word in others):
        raise UserError("seal= and difference= are two plans of the same jobs; give first one, and then the other.")
    if not any(word.startswith("plan=") for word in own):
        raise UserError("difference=… must be given: the differences that the study should find, such as 0.01,0.05.")
    return own, others


def _print_findings(findings: Iterable[Finding]) -> Answer:
    found = list(findings)
    sentences = [show_in_line(finding.sentence) for finding in found]
    print("\n".join(sentences))
    return Answer("study_size", lambda: {"sentences": sentences, "numbers": collect_numbers(found)})


def _plan_rates(request: RatesRequest) -> Finding:
    """Return how many items show the difference of two rates."""
    first, second = map(float, request.rates)
    difference = abs(first - second)
    deviation = math.sqrt(max(0.0, 1 - request.agreement - difference**2))
    pilot = PilotItems(deviation, MANY_ITEMS, MANY_ITEMS, True)
    needed = pilot.count_items(difference, Pairs(1, request.alpha))
    test = f"McNemar's exact test, α = {request.alpha:g}"
    sentence = f"{TIMES} about {count_nouns(needed, 'item')} would show a difference of {difference:.4g} ({test})."
    return Finding(sentence, {"items": {f"{difference:.4g}": needed}})


def _plan_jobs(request: CompareRequest, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield which differences planned jobs would find, and from which runs their spread is known."""
    of_dataset = group_by(jobs, lambda job: job.dataset)
    evaluations = [job.spec["evaluation"] for job in jobs if job.hash]
    n_seeds = len({job.spec.get("seed") for job in jobs})
    n_configurations = max(map(len, of_dataset.values()), default=0) // max(n_seeds, 1)
    if len(evaluations) < len(jobs) or n_configurations < 2 or any(each != evaluations[0] for each in evaluations):
        raise UserError(
            "difference= needs jobs that are valid and known before the first one runs, with one evaluation and at "
            "least two configurations, such as learner=knn,naive_bayes."
        )
    # An evaluation with neither key has the folds of its column or its rows.
    repeats = evaluations[0].get("repeats", 1)
    folds = evaluations[0].get("folds", 1 if "repeats" in evaluations[0] else 0)
    if folds * repeats * n_seeds == 1:
        raise UserError("difference= needs several folds, because one has no test: add evaluation=repeated_kfold.")
    pilots = _find_pilots(request, [own[0] for own in of_dataset.values()])
    unknown = [job for name, own in of_dataset.items() if name not in pilots for job in own]
    if not pilots:
        raise UserError(
            "difference= needs the spread of the differences of folds, and the store has no two finished runs on the "
            f"same folds of such an evaluation. A pilot measures it: {_write_pilot(unknown)}"
        )
    planned = [each._replace(folds=n_seeds * (folds or each.folds), repeats=repeats) for each in pilots.values()]
    pairs = Pairs(math.comb(n_configurations, 2), request.alpha)
    yield from describe_folds(planned, len(of_dataset), request.differences, pairs)
    n_single = sum(each.repeats == 1 for each in pilots.values())
    n_repeated = len(pilots) - n_single
    yield Finding(
        f"Spread of the differences: {n_repeated} from several stored repeats, {n_single} from one.",
        {"spreads_from_repeats": n_repeated, "spreads_from_one_repeat": n_single},
    )
    if unknown:
        pilot = _write_pilot(unknown)
        yield Finding(f"It is unknown for the other datasets; a pilot measures it: {pilot}", {"pilot": pilot})


def _find_pilots(request: CompareRequest, jobs: Sequence[Job]) -> dict[str, PlannedFolds]:
    """Return the folds of stored runs with the datasets and the evaluation of some jobs, where the spread is known."""
    store = get_tracker(PartCache(), jobs[0].spec).find_store()
    runs = [] if store is None else [each for job in jobs for each in _select_runs(job, store)]
    if store is None or not runs:
        return {}
    scored = score_runs(runs, "", request, store)
    return measure_folds(scored.datasets, scored.cells.values(), scored.metrics[0].name)


def _select_runs(job: Job, store: Store) -> Sequence[RunFacts]:
    """Return the finished runs with the dataset and the evaluation of a job whose splits most of them share."""
    assert job.cell is not None
    query = f"{IS_FINISHED} and {write_condition('tags.dataset_digest', job.cell.dataset_digest)}"
    evaluation = {
        f"evaluation.{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in job.spec["evaluation"].items()
    }
    runs = [describe_run(run) for run in search_runs(store, query, MAX_PILOT_RUNS)]
    same = [each for each in runs if _select_decisive(each.run.params) == _select_decisive(evaluation)]
    of_splits = list(group_by(same, lambda each: (each.dataset, each.splits_digest)).values())
    counts = {len({each.configuration for each in own}): own for own in reversed(of_splits)}
    most = max(counts, default=0)
    return counts[most] if most > 1 else []


def _select_decisive(params: Mapping[str, str]) -> dict[str, str]:
    """Return the params of an evaluation that decide the spread of the differences."""
    return {key: value for key, value in params.items() if key.startswith("evaluation.") and key not in FREE_KEYS}


def _write_pilot(jobs: Sequence[Job]) -> str:
    """Return the command of one repeat of the two fastest learners of some jobs, those of unknown duration last."""
    in_order = sorted(jobs, key=lambda job: math.inf if job.seconds is None else job.seconds)
    learners, datasets, evaluations = (
        list(dict.fromkeys(job.invocation.choices[key] for job in in_order))
        for key in ("learner", "dataset", "evaluation")
    )
    words = [f"learner={','.join(learners[:2])}", f"dataset={','.join(datasets)}", f"evaluation={evaluations[0]}"]
    words += [word for word in jobs[0].invocation.overrides if word.startswith(KEPT) and not word.startswith(REPEATS)]
    words += [f"{REPEATS}=1"] * ("folds" in jobs[0].spec["evaluation"])
    return hide_secrets(shlex.join(["bakeoff", "-m", *words]))


@dataclass(frozen=True, kw_only=True)
class RatesRequest(Request):
    """Two expected rates of items that two systems get right.

    Attributes
    ----------
    rates : tuple of str
        The two rates, such as 0.62,0.60.
    agreement : float
        The share of items that both systems get right, or both wrong.
    alpha : float
        The significance level; with several pairs, divide it by their number.
    """

    rates: tuple[str, ...]
    agreement: Annotated[float, Word(allowed=SHARES)]
    alpha: Annotated[float, Word(allowed=LEVELS)] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        rates = read_numbers("rates", self.rates, SHARES)
        if len(rates) != 2 or rates[0] == rates[1]:
            raise UserError(f"rates={','.join(self.rates)} must be two different rates, such as rates=0.62,0.60.")
        least, most = 1 - min(sum(rates), 2 - sum(rates)), 1 - abs(rates[0] - rates[1])
        if not least - ROUNDING <= self.agreement <= most + ROUNDING:
            raise UserError(
                f"agreement={self.agreement:g} must be between {least:.4g} and {most:.4g} for rates="
                f"{','.join(self.rates)}: the systems differ at least on the items that make the rates differ."
            )
