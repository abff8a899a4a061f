"""The plan of a sweep: which jobs are checked before the first fit, and what identifies them."""

from __future__ import annotations

import pytest
from command import Bakeoff

from bakeoff.pipeline.config.compose_job import compose_job, own_hydra_state
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.sweep import planning
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import INVALID, TO_DO, Job
from bakeoff.pipeline.sweep.request import run_requested_sweep

FUSSY = """
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.stages.splitting.splitters import Holdout

class Fussy(Holdout):
    def iter_outer_splits(self, data, seed):
        if seed == derive_seed(3, "split"):
            raise ValueError("not this seed")
        return super().iter_outer_splits(data, seed)
"""


def plan(*words: str) -> SweepReport:
    """Return the plan of a sweep on iris."""
    request = SweepRequest((*words, "dataset=iris", "dry_run=true", "tracking=none"), ConfigSource(), quiet=True)
    return run_requested_sweep(request)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the jobs that are checked in full, of which two make a block."""
    names: list[str] = []

    def check_job(runner: JobRunner, job: Job) -> Job:
        names.append(job.name)
        return check(runner, job)

    check = JobRunner.check_job
    monkeypatch.setattr(JobRunner, "check_job", check_job)
    monkeypatch.setattr(planning, "N_CHECKED", 2)
    return names


def test_beyond_the_first_block_one_of_the_jobs_that_differ_in_their_seeds_is_checked(checked: list[str]) -> None:
    report = plan("learner=knn", "learner.n_neighbors=1,2", "seed=range(4)")
    assert checked == [f"n_neighbors={k} seed={seed} knn iris" for k, seed in ((1, 0), (1, 1), (2, 0))]
    assert report.plan.summary == "8 jobs: 8 to run"
    assert len({job.size for job in report.plan.jobs}) == 1  # also those that were not checked have one


@pytest.mark.parametrize(
    "words",
    [
        ("learner=knn", "learner.n_neighbors=1,2,1000", "seed=range(4)"),
        ("learner=knn", "seed=0,1,2,-1,4294967296"),
        ("learner=knn,majority", "preprocessing=none,pca", "preprocessing.numeric=[unknown]", "seed=range(3)"),
    ],
    ids=["parameter", "seed", "key"],
)
def test_the_same_jobs_are_refused_as_if_each_were_checked(
    monkeypatch: pytest.MonkeyPatch, checked: list[str], words: tuple[str, ...]
) -> None:
    states = [job.state for job in plan(*words).plan.jobs]
    monkeypatch.setattr(planning, "N_CHECKED", len(states))
    expected = [job.state for job in plan(*words).plan.jobs]
    assert states == expected
    assert INVALID in states


@pytest.mark.parametrize("option", ["knn", "random_forest", "c45 pruning=auto", "svm preprocessing=quantile"])
def test_the_hash_of_a_job_is_that_of_its_configuration_composed_alone(option: str) -> None:
    words = [f"learner={option.partition(' ')[0]}", *option.split()[1:]]
    resources = PartCache()
    for job in plan(*words, "seed=3,5").plan.jobs:
        with own_hydra_state():
            spec = compose_job([*words, "dataset=iris", f"seed={job.spec['seed']}"]).spec
        assert dict(job.spec) == {**spec, "tracking": job.spec["tracking"]}
        assert (job.state, job.hash) == (TO_DO, hash_config(spec, resources.get_dataset(spec).digest()))


def test_a_seed_whose_rows_cannot_be_split_ends_its_own_job(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    (bakeoff.folder / "fussy.py").write_text(FUSSY)
    monkeypatch.setattr(planning, "N_CHECKED", 1)
    words = ("learner=majority", "dataset=iris", "evaluation._target_=fussy.Fussy", "trust=[fussy]")
    answer = bakeoff("-m", *words, "seed=range(5)", "tracking.models=false")
    assert answer.status == 1
    assert "1 of 5 jobs did not finish" in answer.err
    assert "not this seed" in answer.err
    assert sorted(run.data.params["seed"] for run in bakeoff.runs() if run.info.status == "FINISHED") == [*"0124"]
