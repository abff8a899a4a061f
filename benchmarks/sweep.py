"""Measure the overhead of a sweep, and its robustness when its processes are killed.

    python benchmarks/sweep.py                  everything, about a quarter of an hour
    python benchmarks/sweep.py cost together    only these parts
    python benchmarks/sweep.py --docs           also writes docs/benchmarks.md

- ``cost``: a small job, with and without its model, compared with a plain script of hydra.main and log_model;
- ``kinds``: jobs of five folds that differ in the seed, in a parameter, or in names, compared with such a script;
- ``speedup``: a CPU-bound sweep with one worker and with two;
- ``together``: processes that start at the same time on a store that does not exist;
- ``kill``: a sweep that is killed at random, with its workers, until it is done, and then repeated once.

Nothing is asserted. The cost of start-up is excluded by subtracting a run of a tenth of the jobs from a run of all.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))  # the tests kill sweeps alike
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from killing import ROOT, start, until_done

from benchmarks.tables import machine, replace_part

BASELINE = """
import hydra, mlflow, mlflow.sklearn
from hydra.utils import instantiate
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, f1_score, log_loss, precision_score, recall_score
from sklearn.model_selection import train_test_split


@hydra.main(version_base=None, config_path=None, config_name="config")
def main(config):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=config.seed)
    with mlflow.start_run():
        mlflow.log_params({"seed": config.seed, **config.learner})
        model = instantiate(config.learner).fit(X_train, y_train)
        said = model.predict(X_test)
        mlflow.log_metric("accuracy", accuracy_score(y_test, said))
        for formula in (precision_score, recall_score, f1_score):
            mlflow.log_metric(formula.__name__, formula(y_test, said, average="macro", zero_division=0))
        mlflow.log_metric("log_loss", log_loss(y_test, model.predict_proba(X_test)))
        mlflow.log_input(mlflow.data.from_pandas(X.assign(target=y), targets="target"))
        mlflow.sklearn.log_model(model, name="model", skops_trusted_types=[])


from hydra.core.config_store import ConfigStore

node = {"seed": 0, "learner": {"_target_": "sklearn.dummy.DummyClassifier", "strategy": "prior"}}
ConfigStore.instance().store(name="config", node=node)
main()
"""
FOLDS_BASELINE = """
import hydra, mlflow, mlflow.sklearn
from hydra.core.config_store import ConfigStore
from hydra.utils import instantiate
from sklearn.model_selection import StratifiedKFold, cross_validate

METRICS = ["accuracy", "precision_macro", "recall_macro", "f1_macro", "neg_log_loss"]
TRUSTED = [
    "sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree", "sklearn.tree._tree.Tree",
]


@hydra.main(version_base=None, config_path=None, config_name="config")
def main(config):
    X, y = instantiate(config.dataset, return_X_y=True, as_frame=True)
    model = instantiate(config.learner)
    folds = StratifiedKFold(5, shuffle=True, random_state=config.seed)
    scores = cross_validate(model, X, y, cv=folds, scoring=METRICS)
    with mlflow.start_run():
        mlflow.log_params({"seed": config.seed, "dataset": config.dataset._target_, **config.learner})
        for name, values in scores.items():
            mlflow.log_metric(name, values.mean())
        mlflow.log_input(mlflow.data.from_pandas(X.assign(target=y), targets="target"))
        mlflow.sklearn.log_model(model.fit(X, y), name="model", skops_trusted_types=TRUSTED)


store = ConfigStore.instance()
for name in ("iris", "wine", "breast_cancer"):
    store.store(group="dataset", name=name, node={"_target_": f"sklearn.datasets.load_{name}"})
learners = {
    "majority": {"_target_": "sklearn.dummy.DummyClassifier"},
    "naive_bayes": {"_target_": "sklearn.naive_bayes.GaussianNB"},
    "knn": {"_target_": "sklearn.neighbors.KNeighborsClassifier"},
    "decision_tree": {"_target_": "sklearn.tree.DecisionTreeClassifier", "max_depth": None},
}
for name, node in learners.items():
    store.store(group="learner", name=name, node=node)
defaults = ["_self_", {"dataset": "iris"}, {"learner": "majority"}]
store.store(name="config", node={"seed": 0, "defaults": defaults})
main()
"""
"""A script whose datasets and learners are chosen by name."""
Words = Sequence[str]


@dataclass(frozen=True)
class Kind:
    """Sweeps whose jobs differ in one kind of word: few and many jobs, ours and those of the script."""

    ours: tuple[Words, Words]
    script: tuple[Words, Words]
    more: tuple[int, int]
    """The number of jobs that many has more than few, on both sides."""


NAMES = (
    ("learner=majority,naive_bayes,knn,decision_tree", "dataset=iris"),
    (
        "learner=majority,naive_bayes,knn,decision_tree",
        "dataset=iris,wine,breast_cancer",
    ),
)
TREES = ("learner=decision_tree",)
KINDS: Mapping[str, Kind] = {
    "the seed": Kind((["seed=range(10)"], ["seed=range(110)"]), (["seed=range(2)"], ["seed=range(10)"]), (100, 8)),
    "a parameter": Kind(
        ([*TREES, "learner.max_depth=range(1,11)"], [*TREES, "learner.max_depth=range(1,111)"]),
        ([*TREES, "learner.max_depth=range(1,3)"], [*TREES, "learner.max_depth=range(1,11)"]),
        (100, 8),
    ),
    "names": Kind(NAMES, NAMES, (8, 8)),
}
"""What differs between the jobs of a sweep -> its words."""
SMALL = ["-m", "dataset=iris", "learner=majority"]
BOUND = ["-m", "dataset=digits", "learner=mlp", "evaluation=kfold", "resume=false"]
Row = tuple[str, str]


@dataclass(frozen=True)
class Cost:
    """The wall time and the CPU time of a command, in seconds."""

    wall: float
    cpu: float


def cost(command: list[str]) -> Cost:
    """Run a command in an empty folder, and measure its time."""
    with TemporaryDirectory() as folder:
        return measure(command, Path(folder))


def measure(command: list[str], folder: Path) -> Cost:
    """Run a command in a folder, in which its store will be, and measure its time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/outputs/mlflow.db", "GIT_PYTHON_REFRESH": "quiet"}
    (folder / "outputs").mkdir(exist_ok=True)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[-2000:], file=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(time.perf_counter() - began, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def ours(*words: str) -> list[str]:
    """Return the command."""
    return [sys.executable, "-m", "bakeoff", *words]


def per_job(command: list[str], jobs: int) -> Cost:
    """Return the cost of one additional job, without start-up."""
    few = max(jobs // 10, 2)
    small, large = (cost([*command, f"seed=range({count})"]) for count in (few, jobs))
    return Cost((large.wall - small.wall) / (jobs - few), (large.cpu - small.cpu) / (jobs - few))


def costs(jobs: int) -> Iterator[Row]:
    """Yield the cost of a small job in each variant."""
    with TemporaryDirectory() as folder:
        script = Path(folder) / "plain.py"
        script.write_text(BASELINE)
        whole = per_job(ours(*SMALL), jobs)
        yield f"CPU of a job, of {jobs}, with everything", f"{1000 * whole.cpu:.0f} ms"
        yield (
            "… with tracking.models=false",
            f"{1000 * per_job(ours(*SMALL, 'tracking.models=false'), jobs).cpu:.0f} ms",
        )
        plain = per_job([sys.executable, str(script), "-m"], jobs // 20)
        ratio = f"{1000 * plain.cpu:.0f} ms, {plain.cpu / whole.cpu:.0f} times as much"
        yield f"… in a script of hydra.main and mlflow.sklearn.log_model, of {jobs // 20}", ratio


def kinds(repeats: int) -> Iterator[Row]:
    """Yield the time of another job of five folds, beside that of a script, measured in turn."""
    with TemporaryDirectory() as folder:
        script = Path(folder) / "plain.py"
        script.write_text(FOLDS_BASELINE)
        five_folds = ours("-m", "learner=majority", "dataset=iris", "evaluation=kfold", "evaluation.folds=5")
        plain = [sys.executable, str(script), "-m"]
        for name, kind in KINDS.items():
            costs: tuple[list[tuple[Cost, Cost, int]], ...] = ([], [])
            for _ in range(repeats):
                sides = zip((five_folds, plain), (kind.ours, kind.script), kind.more, costs, strict=True)
                for command, (few, many), more, taken in sides:
                    taken.append((cost([*command, *few]), cost([*command, *many]), more))
            for clock in ("wall", "cpu"):
                mine, others = (
                    1000 * median((getattr(many, clock) - getattr(few, clock)) / more for few, many, more in taken)
                    for taken in costs
                )
                ratio = f"{mine:.0f} ms, and {others:.0f} ms in the script: {others / mine:.0f} times as much"
                yield f"a job of 5 folds, {clock} time, where jobs differ in {name}", ratio


def speedup() -> Iterator[Row]:
    """Yield how much faster two workers are than one, measured alternately."""
    walls = {1: list[float](), 2: list[float]()}
    for _ in range(2):
        for workers, taken in walls.items():
            few, many = (cost(ours(*BOUND, f"seed=range({jobs})", f"workers={workers}")).wall for jobs in (2, 10))
            taken.append(many - few)
    one, two = (min(taken) for taken in walls.values())
    yield "8 CPU-bound jobs by 2 workers", f"{one / two:.2f} times as fast as by 1 ({one:.1f} and {two:.1f} s)"


def together(jobs: int, processes: int = 8) -> Iterator[Row]:
    """Yield the states of the runs of processes that start together while there is no store."""
    with TemporaryDirectory() as folder:
        share = jobs // processes
        parts = [f"seed=range({place * share},{(place + 1) * share})" for place in range(processes)]
        words = [*SMALL, "tracking.models=false"]
        began = time.perf_counter()
        started = [start(Path(folder), [*words, part]) for part in parts]
        errors = sum(process.wait() != 0 for process in started)
        wall = time.perf_counter() - began
        states, hashes = counts(Path(folder))
    told = f"{share * processes - len(hashes)} lost, {errors} errors, {told_states(states)}, {wall:.0f} s"
    yield f"{processes} processes, fresh SQLite, {share * processes} runs", told


def kill(jobs: int, kills: int) -> Iterator[Row]:
    """Kill a sweep and its workers at random, repeat it until it is done, and yield the states of the stored runs."""
    words = [*SMALL, "workers=2", "tracking.models=false", f"seed=range({jobs})"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        told = until_done(folder, words, kills, every=(1.0, 4.0))
        states, hashes = counts(folder)
        once = f"{len(hashes)} hashes, each finished {' or '.join(map(str, sorted(set(hashes.values()))))} times"
        yield f"{jobs} jobs, {told.kills} SIGKILLs, {told.starts} starts", f"{told_states(states)}; {once}"
        began = time.perf_counter()
        start(folder, words).wait()
        yield f"the same command again, {jobs} jobs done", f"{time.perf_counter() - began:.1f} s"


def counts(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the number of runs in each state, and the number of finished runs of each hash."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
    experiment = client.get_experiment_by_name("bakeoff")
    assert experiment is not None
    states: Counter[str] = Counter()
    hashes: Counter[str] = Counter()
    token: str | None = ""
    while token is not None:
        page = client.search_runs([experiment.experiment_id], max_results=1000, page_token=token or None)
        states.update(run.info.status for run in page)
        hashes.update(run.data.tags["config_hash"] for run in page if run.info.status == "FINISHED")
        token = page.token or None
    return states, hashes


def told_states(states: Counter[str]) -> str:
    """Write counts as text."""
    return ", ".join(f"{count} {state}" for state, count in states.items())


def main() -> None:
    """Measure the requested parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="cost, kinds, speedup, together, kill; all if left out")
    parser.add_argument("--jobs", type=int, default=200, help="small jobs of which the cost is told")
    parser.add_argument("--many", type=int, default=1000, help="jobs of the sweeps that are killed, and start together")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3, help="how often kinds of jobs are measured")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "cost": lambda: costs(given.jobs),
        "kinds": lambda: kinds(given.repeats),
        "speedup": speedup,
        "together": lambda: together(given.many),
        "kill": lambda: kill(given.many, given.kills),
    }
    lines = ["| what | measured |", "| --- | --- |"]
    for what in given.what or parts:
        for name, told in parts[what]():
            lines.append(f"| {name} | {told} |")
            print(f"{name:<72} {told}", flush=True)
    if given.docs:
        command = f"python benchmarks/sweep.py {' '.join(sys.argv[1:])}"
        replace_part("sweep", "\n".join([machine(command), "", *lines]))


if __name__ == "__main__":
    main()
