"""Measure how much longer each verb takes in a store of thousands of runs than in a store of a few.

    python benchmarks/many_runs.py                     every verb, with 5 and with 5,000 runs
    python benchmarks/many_runs.py latest "list models"    only the verbs whose words contain one of these
    python benchmarks/many_runs.py --docs              also writes docs/benchmarks.md

Both stores begin with the same sweep of five learners on iris and a registered model. The runs of the large one are
copied within the database: every row that belongs to a run, with new ids and hashes, as earlier sweeps of the same
experiment, a tenth of them failed. As many runs again are in another experiment. CPU seconds are the smallest of
``--repeats`` commands, each in a separate process. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.tables import machine, replace_part

ROOT = Path(__file__).resolve().parents[1]
BASE = ("dataset=iris", "evaluation=kfold")
FIRST_SWEEP = ("-m", "learner=majority,naive_bayes,knn,decision_tree,svm", *BASE)
TO_DO = ("learner=majority", "dataset=iris", "seed=range(2000)")
"""Jobs without runs."""
DONE = ("learner=majority", *BASE, "seed=range(1000,1500)")
"""Jobs with runs in the large store."""
N_FIRST = 5
MAIN = "bakeoff"
OTHER = "another"
NEW_ID = "lower(hex(randomblob(16)))"
NEW_HASH = "lower(hex(randomblob(8)))"
UI = """
from bakeoff.pipeline.commands.store.pages import PagesRequest, open_pages
print(open_pages(PagesRequest()))
"""
HASHES = """
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.request import run_requested_sweep
words = (*{words!r}, "dry_run=true", "tracking=none")
report = run_requested_sweep(SweepRequest(words, ConfigSource(), quiet=True))
print("hashes", *(job.hash for job in report.plan.jobs))
"""
OURS = (sys.executable, "-m", "bakeoff")


@dataclass(frozen=True)
class Case:
    """A command to measure.

    Attributes
    ----------
    words : str
        The words after ``bakeoff``, which name the case.
    code : str
        Python code that is run instead.
    reads_all : bool
        Whether the command lists or pairs all runs, so that its time must grow with them.
    """

    words: str
    code: str = ""
    reads_all: bool = False


CASES = (
    Case("plan -m " + " ".join(FIRST_SWEEP[1:])),
    Case("plan -m " + " ".join(TO_DO)),
    Case("compare latest"),
    Case("compare sweep=latest keep=false"),
    Case("compare filter=metrics.test_accuracy>0.1 keep=false", reads_all=True),
    Case("list models"),
    Case("list runs", reads_all=True),
    Case("replay latest"),
    Case("replay sweep=latest"),
    Case("figures latest confusion_matrix output=pictures"),
    Case("explain latest output=none"),
    Case("predict latest iris.csv output=answers.csv"),
    Case("predict best iris.csv output=answers.csv"),
    Case("predict iris@champion iris.csv output=answers.csv"),
    Case("rm latest dry_run=true"),
    Case("rm sweep=latest dry_run=true"),
    Case("rm filter=metrics.test_accuracy>0.1 dry_run=true", reads_all=True),
    Case("gc dry_run=true", reads_all=True),
    Case("ui, until the server starts", UI),
    Case(" ".join(FIRST_SWEEP)),
    Case(" ".join((*FIRST_SWEEP, "workers=2"))),
    Case("dataset=iris learner=majority tracking.models=false"),
    Case("ship latest as=again@champion"),
    Case("compare sweep=latest"),
    Case("plan -m " + " ".join(DONE), reads_all=True),
    Case("-m " + " ".join((*DONE, "tracking.models=false")), reads_all=True),
    Case("rerun --failed", reads_all=True),
)


def run(folder: Path, command: Sequence[str]) -> tuple[float, str]:
    """Run a command in a folder, and return its CPU seconds, with those of its children, and its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, done.stdout + done.stderr


def make_first_runs(folder: Path) -> None:
    """Run a sweep of five learners, register the best model, and write a file to predict."""
    from sklearn.datasets import load_iris

    load_iris(as_frame=True).data.to_csv(folder / "iris.csv", index=False)
    run(folder, [*OURS, *FIRST_SWEEP])
    run(folder, [*OURS, "ship", "best", "as=iris@champion"])


def make_many_runs(folder: Path, first: Path, n_runs: int) -> None:
    """Copy a store, and copy its runs until there are some thousands, in its experiment and in another one."""
    shutil.copytree(first, folder)
    run(folder, [*OURS, "dataset=iris", "learner=majority", f"tracking.experiment={OTHER}"])
    found = run(folder, [sys.executable, "-c", HASHES.format(words=DONE)])[1]
    hashes = next(line for line in found.splitlines() if line.startswith("hashes ")).split()[1:]
    with closing(sqlite3.connect(folder / "outputs" / "mlflow.db")) as database:
        # With a hundred thousand runs, the pages of the indices do not fit into the cache of 2 MB.
        database.execute("PRAGMA cache_size = -1000000")
        database.execute("PRAGMA synchronous = OFF")
        for name, n_old in ((MAIN, N_FIRST), (OTHER, 1)):
            _plan_copies(database, name, n_runs // n_old - 1)
            for table in ("runs", "tags", "params", "metrics", "latest_metrics", "inputs", "logged_models"):
                _copy_rows(database, table)
            for table in ("logged_model_params", "logged_model_tags", "logged_model_metrics"):
                _copy_rows(database, table)
            _change_copies(database)
        _name_jobs(database, hashes)
        database.commit()


def _plan_copies(database: sqlite3.Connection, experiment: str, n_copies: int) -> None:
    """Write the id of each run and model of an experiment beside the new ids of its copies."""
    database.execute("DROP TABLE IF EXISTS temp.copies")
    database.execute(f"""
        CREATE TEMP TABLE copies AS
        WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {n_copies})
        SELECT run_uuid AS old, number, {NEW_ID} AS new FROM runs JOIN experiments USING (experiment_id), numbers
        WHERE experiments.name = '{experiment}'
        UNION ALL SELECT model_id, number, 'm-' || {NEW_ID} FROM logged_models
        JOIN experiments USING (experiment_id), numbers
        WHERE experiments.name = '{experiment}' AND source_run_id IS NOT NULL""")
    database.execute("CREATE INDEX temp.copies_old ON copies (old, number)")
    database.execute("CREATE INDEX temp.copies_new ON copies (new)")


def _copy_rows(database: sqlite3.Connection, table: str) -> None:
    """Copy the rows of a table that belong to a run or a model."""
    columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
    owner = next(each for each in ("model_id", "run_uuid", "destination_id") if each in columns)
    if table == "inputs":  # a dataset of a run, or a model of a run
        owner = "CASE source_type WHEN 'DATASET' THEN destination_id ELSE source_id END"
    values = [_write_copied(column, table) for column in columns]
    database.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} "
        f"FROM copies JOIN {table} ON copies.old = {owner}"
    )


def _write_copied(column: str, table: str) -> str:
    """Return the SQL expression of a column of a copy."""
    other = "(SELECT other.new FROM copies AS other WHERE other.old = {0} AND other.number = copies.number)"
    if column == "input_uuid":
        return NEW_ID
    if column in ("source_id", "destination_id", "source_run_id", "run_id") or (
        column == "run_uuid" and table != "runs"
    ):
        return f"COALESCE({other.format(f'{table}.{column}')}, {table}.{column})"
    if column in ("run_uuid", "model_id"):
        return "copies.new"
    if column in ("start_time", "end_time"):
        return f"{table}.{column} - 60000 * copies.number"
    return f"{table}.{column}"


def _change_copies(database: sqlite3.Connection) -> None:
    """Make each set of copies a sweep of its own with another seed, and let a tenth of them fail."""
    of_copy = "(SELECT number FROM copies WHERE new = run_uuid)"
    in_copies = "run_uuid IN (SELECT new FROM copies)"
    database.execute(f"UPDATE tags SET value = {NEW_HASH} WHERE key = 'config_hash' AND {in_copies}")
    database.execute(f"UPDATE tags SET value = 'sweep-' || {of_copy} WHERE key = 'sweep' AND {in_copies}")
    is_seed = "(key = 'seed' OR key LIKE '%random_state')"
    database.execute(f"UPDATE params SET value = {of_copy} WHERE {is_seed} AND {in_copies}")
    database.execute(f"UPDATE runs SET status = 'FAILED' WHERE {in_copies} AND {of_copy} % 10 = 0")


def _name_jobs(database: sqlite3.Connection, hashes: Sequence[str]) -> None:
    """Give finished copies the hashes of the jobs of a sweep, which are done then."""
    copies = database.execute(
        "SELECT run_uuid FROM runs JOIN experiments USING (experiment_id) WHERE experiments.name = ? AND "
        "runs.name LIKE 'majority%' AND status = 'FINISHED' ORDER BY start_time LIMIT ?",
        (MAIN, len(hashes)),
    ).fetchall()
    database.executemany(
        "UPDATE tags SET value = ? WHERE key = 'config_hash' AND run_uuid = ?",
        [(job_hash, run_id) for job_hash, (run_id,) in zip(hashes, copies, strict=False)],
    )


def find_extra(folders: Sequence[Path], case: Case, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds of a command in each store; the stores take turns."""
    words = [sys.executable, "-c", case.code] if case.code else [*OURS, *case.words.split()]
    taken = [[run(folder, words)[0] for folder in folders] for _ in range(repeats)]
    few, many = (min(column) for column in zip(*taken, strict=True))
    return few, many


def main() -> None:
    """Measure the requested verbs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verbs", nargs="*", help="parts of the words of the commands; all if left out")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md too")
    given = parser.parse_args()
    chosen = [case for case in CASES if not given.verbs or any(verb in case.words for verb in given.verbs)]
    lines = [f"| command | {N_FIRST} runs | {given.runs:,} runs | difference | ratio |", "| --- |" + " ---: |" * 4]
    print(*lines, sep="\n")
    with TemporaryDirectory(prefix="bakeoff-runs-") as name:
        few, many = Path(name) / "few", Path(name) / "many"
        few.mkdir()
        make_first_runs(few)
        make_many_runs(many, few, given.runs)
        for case in chosen:
            first, second = find_extra((few, many), case, given.repeats)
            mark = " (reads all runs)" if case.reads_all else ""
            lines.append(
                f"| `{case.words}`{mark} | {first:.2f} s | {second:.2f} s | {second - first:+.2f} s "
                f"| {second / first:.2f} |"
            )
            print(lines[-1], flush=True)
    if given.docs:
        command = "python benchmarks/many_runs.py " + " ".join(sys.argv[1:])
        replace_part("many runs", "\n".join([machine(command), "", *lines]))


if __name__ == "__main__":
    main()
