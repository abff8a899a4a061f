"""Measure how the time and memory of a whole experiment (holdout, decision tree, pruning, tracking) grow with the rows.

    python benchmarks/scale.py --rows 1000 10000 100000 1000000

For each size, a table of 20 numeric columns is written as CSV and as Parquet, and the command runs on it in a separate
process with a separate store. The script reports wall seconds and peak memory, including Python and all packages. It
asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
import pandas as pd

from benchmarks.tables import machine, replace_part

COLUMNS = 20
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run every size and kind of file, print the table, and with ``--docs`` write it into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--kinds", nargs="+", choices=("csv", "parquet"), default=["csv", "parquet"])
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md too")
    asked = parser.parse_args()
    lines = ["| rows | file | MB of file | seconds | peak MB |", "| ---: | --- | ---: | ---: | ---: |"]
    print(*lines, sep="\n")
    for n in asked.rows:
        for kind in asked.kinds:
            with TemporaryDirectory(prefix="bakeoff-scale-") as folder:
                file = write(n, kind, Path(folder))
                size = file.stat().st_size / 2**20
                seconds, megabytes = run(file, Path(folder))
            lines.append(f"| {n:,} | {kind} | {size:.1f} | {seconds:.1f} | {megabytes:.0f} |")
            print(lines[-1], flush=True)
    if asked.docs:
        command = "python benchmarks/scale.py " + " ".join(sys.argv[1:])
        replace_part("scale", "\n".join([machine(command), "", *lines]))


def write(n: int, kind: str, folder: Path) -> Path:
    """Write n rows of two classes that overlap, so that the tree becomes large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    positive = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) / 2 > 0
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)]).assign(label=np.where(positive, "yes", "no"))
    file = folder / f"made.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)
    return file


def run(file: Path, folder: Path) -> tuple[float, float]:
    """Run the command, after a small one that creates the store, and return its wall seconds and peak megabytes."""
    words = [sys.executable, "-m", "bakeoff", "dataset=file", f"dataset.path={file}", "dataset.target=label"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    create = [sys.executable, "-m", "bakeoff", "dataset=iris", "learner=majority"]
    subprocess.run(create, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    started = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the run on {file.name} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
