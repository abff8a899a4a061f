"""A sweep within a time budget: cheap and informative jobs first, and none that would end too late."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import Bakeoff

import bakeoff as package
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.sweep import engine
from bakeoff.pipeline.sweep.engine import LEFT, BudgetedJobs
from bakeoff.pipeline.sweep.jobs import FINISHED, INVALID, NOT_RUN, Job
from bakeoff.pipeline.sweep.planning import Plan, mark_left, order_jobs

COSTS = {"wide": 30.0, "small": 1.0, "deep": 9.0}
COMMAND = ("-m", "learner=majority,naive_bayes", "dataset=iris,wine", "seed=1,2", "tracking.models=false")


def make_plan(learners: str = "ab", seeds: int = 2, known: bool = True) -> Plan:
    """Return jobs of each learner on each dataset of `COSTS`, and one that could not be composed."""
    points = enumerate(product(range(seeds), learners, COSTS))
    jobs = [
        Job(
            number,
            name=f"{learner} {dataset} {seed}",
            invocation=Invocation({"learner": learner}),
            spec={"seed": seed},
            hash="ab",
            dataset=dataset,
            size=int(COSTS[dataset]),
            seconds=COSTS[dataset] if known else None,
        )
        for number, (seed, learner, dataset) in points
    ]
    return Plan((*jobs, Job(99, "unknown", Invocation({}), state=INVALID)))


@pytest.mark.parametrize("known", [True, False], ids=["by_duration", "by_size"])
def test_each_learner_runs_on_each_dataset_before_a_second_seed_and_cheap_jobs_run_first(known: bool) -> None:
    ordered = [job.name for job in order_jobs(make_plan(known=known))]
    first = ["a small 0", "b small 0", "a deep 0", "b deep 0", "a wide 0", "b wide 0"]
    assert ordered == [*first, *(name.replace("0", "1") for name in first)]


def test_variants_of_a_learner_wait_until_the_others_have_run() -> None:
    variants = make_plan("aab", seeds=1)
    assert [job.name[0] for job in order_jobs(variants)] == [*"abababaaa"]


def test_a_plan_leaves_out_what_would_end_too_late_on_its_workers() -> None:
    def left(budget: float, workers: int) -> int:
        return len(mark_left(make_plan(), budget, workers).with_state(NOT_RUN))

    assert [left(160.1, 1), left(131, 1), left(0.5, 1), left(81, 2), left(160.1, 3)] == [0, 1, 12, 0, 0]
    assert mark_left(make_plan(), 131, 1).summary == "13 jobs: 11 to run, 1 beyond the budget, 1 invalid"


@pytest.mark.parametrize(
    ("known", "deadline", "skipped"),
    [(True, 30, ["a wide 0", "a wide 1"]), (False, 60, ["a wide 1"])],
    ids=["known", "the first job of its kind shows how long the next one takes"],
)
def test_a_job_that_fits_is_started_after_one_that_does_not(
    monkeypatch: pytest.MonkeyPatch, known: bool, deadline: float, skipped: list[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now[0]))
    ordered = order_jobs(make_plan("a", known=known))
    search = BudgetedJobs(list(ordered), deadline)
    started = []
    for job in search.ask(print):
        started.append(job.name)
        now[0] += COSTS[job.dataset]
        search.tell(job.to_outcome(FINISHED))
    assert started == [job.name for job in ordered if job.name not in skipped]
    assert [job.name for job in search.waiting] == skipped
    assert search.is_over


def test_a_budget_ends_a_sweep_and_the_same_command_continues_it(bakeoff: Bakeoff) -> None:
    ended = bakeoff(*COMMAND, "budget=1e-9")
    assert (ended.status, bakeoff.runs()) == (0, []), ended.err
    assert f"8 of 8 jobs did not finish:\n  8 not run: {LEFT}\n    #0 majority seed=1 iris, #" in ended.err
    assert "The same command runs the jobs that are not done." in ended.out
    done = bakeoff(*COMMAND, "budget=1h", "workers=2")
    assert (done.status, len(bakeoff.runs()), "not run" in done.out) == (0, 8, False), done.err
    late = bakeoff("plan", *COMMAND, "dataset=iris", "resume=false", "budget=1e-9").out
    assert "4 jobs: 0 to run, 4 beyond the budget" in late


def test_in_python_a_job_beyond_the_budget_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(package.BakeoffWarning, match="not run: it was not expected to end within the budget"):
        result = package.sweep(learner="majority", dataset="iris", seed=[1, 2], budget=1e-9)
    assert [*result.runs["state"]] == ["not run", "not run"]
