"""No word of a command line and no key of an experiment is lost: it has its effect, is refused, or a line says so."""

from __future__ import annotations

import pytest
from command import Answer, Bakeoff

import bakeoff as package
from bakeoff.pipeline.errors import UserError

IRIS = ("learner=majority", "dataset=iris", "tracking=none")
PARAMS = "  sweeper:\n    params:\n      seed: 1,2\n"
THREE_SEEDS = (
    "# @package _global_\n# Three seeds.\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      seed: 1,2,3\n"
)


def write_experiment(bakeoff: Bakeoff, name: str, text: str, folder: str = "conf") -> None:
    """Write an experiment of the user."""
    file = bakeoff.folder / folder / "experiment" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def jobs(answer: Answer) -> list[str]:
    """Return the names of the jobs of a plan or a sweep, without their states."""
    lines = [line for line in answer.out.splitlines() if line.startswith("#")]
    return sorted(line.split(maxsplit=1)[1].partition("  ")[0] for line in lines)


def seeds(answer: Answer) -> list[str]:
    """Return the seeds of the jobs that an answer lists."""
    words = [word for name in jobs(answer) for word in name.split()]
    return [word for word in words if word.startswith("seed=")]


# hydra.mode in a file


@pytest.mark.parametrize("folder", ["conf", "mine"])
def test_an_experiment_that_asks_for_a_sweep_needs_the_flag(bakeoff: Bakeoff, folder: str) -> None:
    write_experiment(bakeoff, "three", THREE_SEEDS, folder)
    flag = () if folder == "conf" else ("--config-dir", folder)
    refused = bakeoff(*flag, "experiment=three", *IRIS)
    assert (refused.status, "defines a sweep (seed); add -m" in refused.err) == (2, True)
    answer = bakeoff(*flag, "-m", "experiment=three", *IRIS)
    assert (answer.status, seeds(answer)) == (0, ["seed=1", "seed=2", "seed=3"])
    assert all("majority" in job for job in jobs(answer))
    assert not (bakeoff.folder / "outputs" / "mlflow.db").exists()


def test_words_of_the_command_line_take_precedence_over_values_of_the_file(bakeoff: Bakeoff) -> None:
    write_experiment(bakeoff, "three", THREE_SEEDS)
    answer = bakeoff("plan", "experiment=three", "learner=knn,majority", "dataset=iris", "seed=5,6")
    assert (len(jobs(answer)), set(seeds(answer))) == (4, {"seed=5", "seed=6"})


def test_a_single_run_in_python_refuses_an_experiment_that_is_a_sweep(bakeoff: Bakeoff) -> None:
    write_experiment(bakeoff, "three", THREE_SEEDS)
    with pytest.raises(UserError, match=r"defines a sweep \(seed\)"):
        package.run("experiment=three", *IRIS)
    assert len(package.sweep("experiment=three", *IRIS).runs) == 3


# Keys of sweeps where there is none


def test_keys_of_sweeps_need_a_sweep(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*IRIS, "workers=2")
    assert (answer.status, "is a key of sweeps; add -m" in answer.err) == (2, True)


def test_values_of_a_sweep_in_a_file_need_a_sweep(bakeoff: Bakeoff) -> None:
    write_experiment(bakeoff, "two", f"# @package _global_\nhydra:\n{PARAMS}")
    answer = bakeoff("experiment=two", *IRIS)
    assert (answer.status, "defines a sweep (seed); add -m" in answer.err) == (2, True)
    assert seeds(bakeoff("-m", "experiment=two", *IRIS)) == ["seed=1", "seed=2"]


def test_values_of_a_sweep_may_be_given_on_the_command_line(bakeoff: Bakeoff) -> None:
    assert seeds(bakeoff("plan", *IRIS, "+hydra.sweeper.params.seed='1,2'")) == ["seed=1", "seed=2"]


# Keys that something else decides


GRIDS = "hydra.sweeper.params=[{learner: knn, learner.n_neighbors: '1,3'},{learner: 'majority,knn', seed: 4}]"


@pytest.mark.parametrize(
    ("words", "names", "lines"),
    [
        (
            [GRIDS],
            ["knn n_neighbors=1 seed=0", "knn n_neighbors=3 seed=0", "knn n_neighbors=5 seed=4", "majority seed=4"],
            [],
        ),
        ([GRIDS, "learner=knn", "seed=4"], ["n_neighbors=1 knn", "n_neighbors=3 knn", "n_neighbors=5 knn"], []),
        (
            [GRIDS, "exclude=[{learner: knn, learner.n_neighbors: 1},{seed: 4}]"],
            ["knn n_neighbors=3 seed=0"],
            ["exclude leaves out 3 of 4 combinations"],
        ),
        (  # a default counts, and what is excluded may be invalid
            [
                "learner=knn,majority",
                "learner.n_neighbors=1,3",
                "exclude=[{learner: majority},{learner: knn, preprocessing: none, learner.n_neighbors: 3}]",
            ],
            ["knn n_neighbors=1"],
            ["exclude leaves out 3 of 4 combinations"],
        ),
        (
            ["seed=1,2", "exclude=[{seed: 1},{sed: 2}]"],
            ["seed=2 decision_tree"],
            ["exclude leaves out 1 of 2 combinations", "no combination is {sed:2}; check its keys and values"],
        ),
    ],
)
def test_grids_are_united_and_exclude_leaves_combinations_out(
    bakeoff: Bakeoff, words: list[str], names: list[str], lines: list[str]
) -> None:
    answer = bakeoff("plan", "-m", "dataset=iris", *words)
    assert jobs(answer) == [f"{name} iris" for name in names]
    assert [line for line in lines if line not in answer.err] == []
    assert ("exclude" in answer.err) == bool(lines)


def test_jobs_are_numbered_without_those_that_are_excluded(bakeoff: Bakeoff) -> None:
    answer = bakeoff("-m", *IRIS, "seed=1,2,3", "exclude=[{seed: 1}]")
    assert [line.split()[0] for line in answer.out.splitlines() if line.startswith("#")] == ["#0", "#1"]


def test_a_key_that_is_given_is_not_searched(bakeoff: Bakeoff) -> None:
    answer = bakeoff("plan", "learner=knn", "learner.n_neighbors=3,4", "search=grid", "dataset=iris")
    found = [word for job in jobs(answer) for word in job.split() if word.startswith("n_neighbors")]
    assert sorted(set(found)) == ["n_neighbors=3", "n_neighbors=4"]
    assert len(found) == len(set(jobs(answer))) == 2 * 2 * 3


def test_a_space_that_nothing_searches_is_refused(bakeoff: Bakeoff) -> None:
    words = ("learner=knn", "dataset=iris", "tracking=none", "space.n_neighbors=[1,3]")
    for verb in ((), ("plan",)):
        answer = bakeoff(*verb, *words)
        assert (answer.status, "has no effect, because nothing is tuned" in answer.err) == (2, True)
    assert bakeoff("plan", *words, "tuning=none,grid").status == 0
