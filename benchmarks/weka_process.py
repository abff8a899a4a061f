"""Run WEKA's learners in a Java process, which reads rows from ARFF files and prints a line of numbers."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import Task

HARNESS = Path(__file__).with_name("Weka.java")

PATIENCE = 180.0
"""The number of seconds after which a process is ended."""


@dataclass(frozen=True)
class Told:
    """The measurements of the harness: CPU seconds of the first and of warm rounds, and accuracy or R².

    Attributes
    ----------
    rounds : float
        The number of rounds.
    beside : float
        CPU seconds of the whole process for each second that was measured when it was warm.
    """

    first_fit: float
    fit: float
    first_predict: float
    predict: float
    rounds: float
    quality: float
    beside: float


def measure(weka: str, task: Task, jar: Path, seconds: float) -> Told | str:
    """Measure one of WEKA's learners in a separate process; return the reason as a string if that is not possible.

    Parameters
    ----------
    weka : str
        A class in ``weka.classifiers`` and its options; {d}, {root} (the integer part of √d) and {gamma} (1 / d) are
        replaced by their values.
    task : Task
    jar : Path
        The other libraries are in the same folder.
    seconds : float
        The CPU time after which no further round starts.
    """
    with TemporaryDirectory(prefix="bakeoff-weka-") as folder:
        files = [Path(folder) / "train.arff", Path(folder) / "test.arff"]
        for file, X, y in zip(files, (task.X, task.Q), (task.y, task.truth), strict=True):
            write_arff(file, X, y, np.unique([*task.y, *task.truth]) if task.c else None)
        command = [
            "java", "-Xmx2g", "-XX:+UseSerialGC", "-Dweka.packageManager.offline=true",
            "-cp", f"{jar.parent}/*", str(HARNESS), str(seconds), *map(str, files), filled(weka, task),
        ]  # fmt: skip
        environment = {**os.environ, "WEKA_HOME": folder}  # nothing is written into the user's home
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return f"more than {PATIENCE:g} s"
    said = [line for line in done.stderr.splitlines() if "Exception" in line or "rror" in line]
    return told(done.stdout) or (said or ["nothing was measured"])[0]


def filled(weka: str, task: Task) -> str:
    """Return the class with its package, and the options that depend on d."""
    d = task.X.shape[1]
    return "weka.classifiers." + weka.format(d=d, root=int(d**0.5), gamma=1 / d)


def told(output: str) -> Told | None:
    """Read the line that the harness printed; None if there is none."""
    line = re.search(r"^measured (.*)$", output, flags=re.MULTILINE)
    if line is None:
        return None
    return Told(**{name: float(value) for name, value in (word.split("=") for word in line[1].split())})


def write_arff(file: Path, X: Any, y: np.ndarray, classes: Iterable[Any] | None) -> None:
    """Write rows X (n, d) and y (n,) in WEKA's format; classes are None in regression."""
    table = pd.DataFrame(np.asarray(X)) if not isinstance(X, pd.DataFrame) else X.reset_index(drop=True)
    domains = [column.cat.categories if column.dtype == "category" else None for _, column in table.items()]
    names = [*(f"x{j}" for j in range(len(domains))), "y"]
    with file.open("w") as handle:
        handle.write("@relation rows\n")
        for name, domain in zip(names, [*domains, classes], strict=True):
            values = "numeric" if domain is None else "{" + ",".join(f"'{value}'" for value in domain) + "}"
            handle.write(f"@attribute {name} {values}\n")
        handle.write("@data\n")
        target = y if classes is None else [f"'{label}'" for label in y]
        quoted = table.apply(lambda column: "'" + column.astype(str) + "'" if column.dtype == "category" else column)
        quoted.assign(y=target).to_csv(handle, header=False, index=False, quoting=3)


def java_version() -> str:
    """Return the version that Java prints."""
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return said.splitlines()[0].replace('"', "") + "."
