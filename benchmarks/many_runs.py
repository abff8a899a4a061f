"""Measure the time, the memory and the queries of each verb in a store of many runs, beside a store of a few.

    python benchmarks/many_runs.py                     every verb, with 5 and with 5,000 runs
    python benchmarks/many_runs.py --runs 100000 --store folder    the same with 100,000 runs, kept for the next call
    python benchmarks/many_runs.py latest "list models"    only the verbs whose words contain one of these
    python benchmarks/many_runs.py --docs              also writes docs/benchmarks.md

Both stores begin with the same sweep of five learners on iris and a registered model. The rows of the large one are
written by SQL: those of the five runs, with other ids, seeds and hashes, as earlier sweeps of 100 jobs each. The hashes
are those that a plan gives to these jobs, so that the same sweep again finds them finished; a tenth of the runs failed.
Their files are not copied. CPU seconds are the smallest of ``--repeats`` commands, each in a separate
process, and the memory is the largest. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.tables import machine, replace_part

ROOT = Path(__file__).resolve().parents[1]
LEARNERS = ("majority", "naive_bayes", "knn", "decision_tree", "svm")
N_FIRST = len(LEARNERS)
RUNS_PER_SWEEP = 100
JOBS = ("-m", f"learner={','.join(LEARNERS)}", "dataset=iris", "evaluation=kfold")
TO_DO = ("learner=majority", "dataset=iris", "seed=range(2000)")
"""Jobs without runs."""
COPIED = {
    "runs": "run_uuid",
    "tags": "run_uuid",
    "params": "run_uuid",
    "metrics": "run_uuid",
    "latest_metrics": "run_uuid",
    "logged_models": "source_run_id",
    "inputs": "CASE source_type WHEN 'DATASET' THEN destination_id ELSE source_id END",
}
"""Tables, each with the run to which a row belongs."""
SEED = "CASE WHEN :key = 'seed' OR :key LIKE '%random_state' THEN number ELSE :value END"
COPIED_TAG = f"""
CASE :key WHEN 'config_hash' THEN hash WHEN 'splits_digest' THEN printf('%016x', number)
WHEN 'sweep' THEN 'sweep-' || (number * {N_FIRST} / {RUNS_PER_SWEEP}) ELSE :value END
"""
CHANGED = {
    ("runs", "start_time"): ":start_time - 60000 * number",
    ("runs", "end_time"): ":end_time - 60000 * number",
    ("runs", "status"): "status",
    ("runs", "artifact_uri"): "replace(:artifact_uri, :owner, new)",
    ("tags", "value"): COPIED_TAG,
    ("params", "value"): SEED,
    ("logged_models", "model_id"): "'m-' || substr(:model_id, 3, 2) || substr(new, 3)",
    ("inputs", "input_uuid"): "lower(hex(randomblob(16)))",
    ("inputs", "source_id"): "iif(:source_id = :owner, new, :source_id)",
    (
        "inputs",
        "destination_id",
    ): "iif(:destination_id = :owner, new, 'm-' || substr(:destination_id, 3, 2) || substr(new, 3))",
}
"""The values of copies that differ from those of the first runs."""
UI = """
from bakeoff.pipeline.commands.store.pages import PagesRequest, open_pages
print(open_pages(PagesRequest()))
"""
HASHES = """
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.request import run_requested_sweep
words = (*{words!r}, "dry_run=true", "tracking=none", "max_jobs=1000000")
report = run_requested_sweep(SweepRequest(words, ConfigSource(), quiet=True))
print("hashes", *(job.hash for job in report.plan.jobs))
"""
COUNTED = """
import atexit, sys
from bakeoff.pipeline.tracking.mlflow_tables import DatabaseFile
read, queries = DatabaseFile.read, []
def count(file, query, values):
    queries.append(query)
    return read(file, query, values)
DatabaseFile.read = count
atexit.register(lambda: print("queries", len(queries), file=sys.stderr))
"""
OURS = (sys.executable, "-m", "bakeoff")
COMMAND = """
from bakeoff.pipeline.cli.main import run_words
sys.exit(run_words({words!r}))
"""


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
    Case("plan " + " ".join(JOBS)),
    Case("plan -m " + " ".join(TO_DO)),
    Case("compare latest"),
    Case("compare sweep=latest keep=false"),
    Case("compare sweep=sweep-1 keep=false"),
    Case("compare filter=metrics.test_accuracy>0.1 keep=false", reads_all=True),
    Case("diff latest best", reads_all=True),
    Case("list models"),
    Case("list runs", reads_all=True),
    Case("replay latest"),
    Case("replay sweep=latest"),
    Case("report latest output=report.html"),
    Case("figures latest confusion_matrix output=pictures"),
    Case("explain latest output=none"),
    Case("predict latest iris.csv output=answers.csv"),
    Case("predict best iris.csv output=answers.csv", reads_all=True),
    Case("predict iris@champion iris.csv output=answers.csv"),
    Case("rm latest dry_run=true"),
    Case("rm sweep=latest dry_run=true"),
    Case("rm filter=metrics.test_accuracy>0.1 dry_run=true", reads_all=True),
    Case("gc dry_run=true", reads_all=True),
    Case("ui, until the server starts", UI),
    Case(" ".join(JOBS)),
    Case("dataset=iris learner=majority tracking.models=false"),
    Case("ship latest as=again@champion"),
    Case("plan " + " ".join((*JOBS, "seed=range(1,101)"))),
    Case(" ".join((*JOBS, "seed=range({n_seeds})", "max_jobs=1000000")), reads_all=True),
)


class Measured(NamedTuple):
    """What a command takes: CPU seconds, with those of its children, its memory in MB, and queries of the store."""

    seconds: float
    megabytes: float
    queries: int


def run(folder: Path, command: Sequence[str]) -> tuple[Measured, str]:
    """Run a command in a folder, and return what it takes and its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with TemporaryFile("w+") as output:
        started = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        _, _, usage = os.wait4(started.pid, 0)
        started.returncode = 0
        output.seek(0)
        text = output.read()
    queries = re.search(r"^queries (\d+)$", text, re.MULTILINE)
    n_queries = int(queries[1]) if queries else 0
    return Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, n_queries), text


def make_first_runs(folder: Path) -> None:
    """Run a sweep of five learners, register the best model, and write a file to predict."""
    from sklearn.datasets import load_iris

    load_iris(as_frame=True).data.to_csv(folder / "iris.csv", index=False)
    run(folder, [*OURS, *JOBS])
    run(folder, [*OURS, "ship", "best", "as=iris@champion"])


def count_done(n_runs: int) -> int:
    """Return the number of seeds with finished runs of all learners; those of the other tenth failed."""
    return n_runs // N_FIRST * 9 // 10


def make_many_runs(folder: Path, first: Path, n_runs: int) -> None:
    """Copy a store, and write the rows of further runs of its jobs, each with another seed."""
    shutil.copytree(first, folder)
    n_seeds = n_runs // N_FIRST
    words = (*JOBS[1:], f"seed=range(1,{n_seeds + 1})")
    found = run(folder, [sys.executable, "-c", HASHES.format(words=words)])[1]
    hashes = next(line for line in found.splitlines() if line.startswith("hashes ")).split()[1:]
    with closing(sqlite3.connect(folder / "outputs" / "mlflow.db")) as database:
        database.row_factory = sqlite3.Row
        # The indices of so many runs do not fit into the usual cache of 2 MB.
        database.execute("PRAGMA cache_size = -1000000")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")  # a log would be as large as the rows
        _list_copies(database, hashes, n_seeds)
        for table, owner in COPIED.items():
            _copy_rows(database, table, owner)
        database.commit()
        database.execute("PRAGMA journal_mode = WAL")


def _list_copies(database: sqlite3.Connection, hashes: Sequence[str], n_seeds: int) -> None:
    """Write the id, the seed, the hash and the status of each copy beside the id of the run that it copies."""
    of_learner = dict(database.execute("SELECT value, run_uuid FROM params WHERE key = 'learner'").fetchall())
    n_done = count_done(N_FIRST * n_seeds)
    database.execute("CREATE TEMP TABLE copies (owner, new PRIMARY KEY, number, hash, status)")
    database.executemany(
        "INSERT INTO copies VALUES (?, ?, ?, ?, ?)",
        (
            # Ids that ascend with the seeds are written at the end of each index.
            (of_learner[LEARNERS[learner]], f"{learner + 1}{seed:07x}{token_hex(12)}", seed, job_hash, status)
            for at, job_hash in enumerate(hashes)
            for learner, seed in [(at // n_seeds, at % n_seeds + 1)]
            for status in ["FINISHED" if seed <= n_done else "FAILED"]
        ),
    )
    database.execute("CREATE INDEX temp.copies_of_owner ON copies (owner, new)")


def _order_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("key", ""), row.get("timestamp", 0), row.get("step", 0), row["owner"]


def _copy_rows(database: sqlite3.Connection, table: str, owner: str) -> None:
    """Write the rows of all copies into a table, whose indices are made anew."""
    rows: list[dict[str, Any]] = [
        dict(row) for row in database.execute(f"SELECT {owner} AS owner, {table}.* FROM {table}")
    ]
    columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
    is_index = f"FROM sqlite_master WHERE type = 'index' AND tbl_name = '{table}' AND sql IS NOT NULL"
    indices = database.execute(f"SELECT name, sql {is_index}").fetchall()
    for name, _ in indices:
        database.execute(f"DROP INDEX {name}")
    ordered = sorted(rows, key=_order_row)
    values = [_write_copied(table, column, owner) for column in columns]
    database.executemany(
        f"INSERT INTO {table} ({', '.join(columns)}) "
        f"SELECT {', '.join(values)} FROM copies WHERE owner = :owner ORDER BY new",
        ordered,
    )
    for _, statement in indices:
        database.execute(statement)


def _write_copied(table: str, column: str, owner: str) -> str:
    """Return the SQL expression of a column of a copy."""
    return "new" if column == owner else CHANGED.get((table, column), f":{column}")


def find_extra(folders: Mapping[Path, int], case: Case, repeats: int) -> list[Measured]:
    """Return what a command takes in each store, given with its number of finished seeds; the stores take turns."""
    commands = {
        folder: COUNTED + (case.code or COMMAND.format(words=case.words.format(n_seeds=n_seeds).split()))
        for folder, n_seeds in folders.items()
    }
    taken = [
        [run(folder, [sys.executable, "-c", code])[0] for folder, code in commands.items()] for _ in range(repeats)
    ]
    return [
        Measured(*map(max, zip(*own, strict=True)))._replace(seconds=min(own)[0]) for own in zip(*taken, strict=True)
    ]


def main() -> None:
    """Measure the requested verbs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verbs", nargs="*", help="parts of the words of the commands; all if left out")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--store", type=Path, help="a folder in which both stores are kept")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md too")
    given = parser.parse_args()
    chosen = [case for case in CASES if not given.verbs or any(verb in case.words for verb in given.verbs)]
    of_few, of_many = f"{N_FIRST} runs", f"{given.runs:,} runs"
    lines = [f"| command | {of_few} | {of_many} | memory | queries |", "| --- |" + " ---: |" * 4]
    print(*lines, sep="\n")
    with TemporaryDirectory(prefix="bakeoff-runs-") as name:
        parent = given.store or Path(name)
        few, many = parent / "few", parent / f"many{given.runs}"
        if not few.exists():
            few.mkdir(parents=True)
            make_first_runs(few)
        if not many.exists():
            make_many_runs(many, few, given.runs)
        for case in chosen:
            n_seeds = count_done(given.runs) + 1
            first, second = find_extra({few: 1, many: n_seeds}, case, given.repeats)
            mark = " (reads all runs)" if case.reads_all else ""
            lines.append(
                f"| `{case.words.format(n_seeds=n_seeds)}`{mark} | {first.seconds:.2f} s | {second.seconds:.2f} s "
                f"| {second.megabytes:,.0f} MB | {first.queries} and {second.queries} |"
            )
            print(lines[-1], flush=True)
    if given.docs:
        command = "python benchmarks/many_runs.py " + " ".join(sys.argv[1:])
        replace_part("many runs", "\n".join([machine(command), "", *lines]))


if __name__ == "__main__":
    main()
