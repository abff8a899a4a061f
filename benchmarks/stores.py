"""Measure how many runs per second each store accepts from 1, 4 and 8 processes that write at the same time.

    python benchmarks/stores.py [--runs 200] [--processes 1 4 8]

A run consists of everything that the tracker writes except the model: params, the scores of five folds as steps, tags,
the dataset, and three files. The learner is fitted beforehand, once per process. All runs are counted afterwards, and
the table shows how many were lost.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))  # the tests start the same server
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # otherwise `learners` would be this folder's module

import mlflow_server

EXPERIMENT = "stores"


def write(uri: str, runs: int, begin: Barrier, end: Barrier) -> None:
    """Write runs to a store, together with other processes."""
    from bakeoff.learners import KNeighborsClassifier
    from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_final_model
    from bakeoff.pipeline.stages.dataset import load_bundled
    from bakeoff.pipeline.stages.pruning import NoPruning
    from bakeoff.pipeline.stages.scoring.choice import choose_metrics
    from bakeoff.pipeline.stages.splitting import KFold
    from bakeoff.pipeline.stages.tuning import NoTuning
    from bakeoff.pipeline.tracking import RunDescription
    from bakeoff.pipeline.tracking.run import MLflowTracker

    dataset, learner = load_bundled("iris"), KNeighborsClassifier()
    metrics = choose_metrics(None, dataset.task, learner)
    experiment = Experiment(dataset, None, learner, NoTuning(), NoPruning(), KFold(), metrics, seed=0)
    folds = list(evaluate_splits(experiment, experiment.make_splits().folds))
    model = fit_final_model(experiment, experiment.make_splits(), folds[-1])
    tracker = MLflowTracker(uri, EXPERIMENT, models=False)
    params = {f"learner.parameter_{number}": str(number) for number in range(20)}
    tracker.open_store()
    begin.wait()
    for number in range(runs):
        tags = {"config_hash": f"{os.getpid()}-{number}"}
        with tracker.start_run(RunDescription(f"knn {number}", params, tags, "seed: 0\n"), experiment) as kept:
            for fold in folds:
                kept.record_fold(fold)
            kept.finish(model, [])
    end.wait()


def measure(uri: str, runs: int, processes: int) -> tuple[float, int]:
    """Return runs per second, and how many runs were lost."""
    context = multiprocessing.get_context("spawn")
    begin, end = context.Barrier(processes + 1), context.Barrier(processes + 1)
    before = count(uri)
    shares = [runs // processes + (number < runs % processes) for number in range(processes)]
    started = [context.Process(target=write, args=(uri, share, begin, end), daemon=True) for share in shares]
    for process in started:
        process.start()
    begin.wait()
    clock = time.perf_counter()
    end.wait()
    seconds = time.perf_counter() - clock
    for process in started:
        process.join()
    return runs / seconds, runs - (count(uri) - before)


def count(uri: str) -> int:
    """Return the number of finished runs."""
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(uri, EXPERIMENT)
    found: Any = None
    total = 0
    while found is None or found.token:
        page = found.token if found else None
        found = store.client.search_runs(
            [store.experiment_id], "status = 'FINISHED'", max_results=1000, page_token=page
        )
        total += len(found)
    return total


@contextmanager
def stores() -> Iterator[dict[str, str]]:
    """Start each kind of store, and yield their URIs by name."""
    folder = Path(mkdtemp(prefix="bakeoff-stores-"))
    folder.chmod(0o755)  # for the user that PostgreSQL runs as
    try:
        with ExitStack() as servers:
            found = {"SQLite file": f"sqlite:///{folder}/mlflow.db"}
            for name, database in (("server, SQLite", "sqlite"), ("server, PostgreSQL", "postgres")):
                found[name] = servers.enter_context(mlflow_server.running(folder / database, database)).uri
            yield found
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Runs a second that each store takes.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 4, 8])
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are stopped as well
    print(f"{given.runs} runs, {os.cpu_count()} cores, Python {sys.version.split()[0]}; runs a second")
    print("| store | " + " | ".join(f"{number} processes" for number in given.processes) + " | lost |")
    print("| --- |" + " ---: |" * (len(given.processes) + 1))
    with stores() as found:
        for name, uri in found.items():
            rows = [measure(uri, given.runs, number) for number in given.processes]
            speeds = " | ".join(f"{speed:.0f}" for speed, _ in rows)
            print(f"| {name} | {speeds} | {sum(lost for _, lost in rows)} |", flush=True)


if __name__ == "__main__":
    main()
