"""What a sweep costs beside its learners, and what it survives.

    python benchmarks/sweep.py                       200 small jobs: here, in two workers, and by a plain script
    python benchmarks/sweep.py --jobs 1000 --kill 20 a sweep that is killed at random until it is done

It prints tables and asserts nothing.  Start-up is told apart by the difference between the jobs and a tenth of them.
Of workers only the wall clock is told: the system does not count their CPU seconds for the command.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
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


@dataclass(frozen=True)
class Cost:
    """Seconds of a command: of the wall clock, and of its processors."""

    wall: float
    cpu: float


def cost(command: list[str]) -> Cost:
    """Run a command in an empty folder, and take its time."""
    with TemporaryDirectory() as folder:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/outputs/mlflow.db", "GIT_PYTHON_REFRESH": "quiet"}
        (Path(folder) / "outputs").mkdir()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr[-2000:], file=sys.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Cost(time.perf_counter() - began, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def ours(*words: str) -> list[str]:
    """Return the command, without the values of seed."""
    return [sys.executable, "-m", "pipeline", "-m", "dataset=iris", "learner=majority", *words]


def compare(jobs: int, baseline_jobs: int) -> None:
    """Print what a job costs in each way."""
    with TemporaryDirectory() as folder:
        script = Path(folder) / "plain.py"
        script.write_text(BASELINE)
        plain = [sys.executable, str(script), "-m"]
        ways = {
            "bakeoff, models off": (ours("tracking.models=false"), jobs),
            "bakeoff": (ours(), jobs),
            "bakeoff, workers=2": (ours("workers=2"), jobs),
            "hydra.main and log_model": (plain, baseline_jobs),
        }
        rows = {name: per_job(command, count) for name, (command, count) in ways.items()}
    print(f"{'milliseconds a job':<28}{'CPU':>8}{'wall':>8}{'CPU, ours = 1':>16}")
    for name, each in rows.items():
        ratio = each.cpu / rows["bakeoff"].cpu
        cpu = "" if "workers" in name else f"{1000 * each.cpu:.0f}"
        print(f"{name:<28}{cpu:>8}{1000 * each.wall:>8.0f}{f'{ratio:.1f}' if cpu else '':>16}")


def per_job(command: list[str], jobs: int) -> Cost:
    """Return what one further job costs, start-up apart."""
    few = max(jobs // 10, 2)
    small, large = (cost([*command, f"seed=range({count})"]) for count in (few, jobs))
    return Cost((large.wall - small.wall) / (jobs - few), (large.cpu - small.cpu) / (jobs - few))


def kill(jobs: int, kills: int) -> None:
    """Kill a sweep and its workers at random, repeat it until it is done, and tell what is in the store."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from killing import until_done
    from mlflow import MlflowClient

    words = ["-m", "dataset=iris", "learner=majority", "workers=2", "tracking.models=false", f"seed=range({jobs})"]
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        told = until_done(Path(folder), words, kills, every=(3.0, 10.0))
        wall = time.perf_counter() - began
        again = cost_in(Path(folder), words)
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        experiment = client.get_experiment_by_name("bakeoff").experiment_id
        states: Counter[str] = Counter()
        hashes: Counter[str] = Counter()
        token = None
        while True:
            page = client.search_runs([experiment], max_results=1000, page_token=token)
            states.update(run.info.status for run in page)
            hashes.update(run.data.tags["config_hash"] for run in page if run.info.status == "FINISHED")
            token = page.token
            if not token:
                break
    print(f"{jobs} jobs, {told.kills} kills, {told.starts} starts, {wall:.0f} s: {dict(states)}")
    print(f"hashes finished: {len(hashes)}, each {set(hashes.values())} times")
    print(f"the same command once more, all done: {again:.1f} s")


def cost_in(folder: Path, words: list[str]) -> float:
    """Return the wall seconds of the command in a folder."""
    from killing import start

    began = time.perf_counter()
    start(folder, words).wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--baseline-jobs", type=int, default=10, help="of the plain script, which is slow")
    parser.add_argument("--kill", type=int, default=0, help="how many kills; then nothing is compared")
    given = parser.parse_args()
    if given.kill:
        kill(given.jobs, given.kill)
    else:
        compare(given.jobs, given.baseline_jobs)
