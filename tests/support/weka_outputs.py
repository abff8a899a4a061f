"""What WEKA 3.9.7 predicts for tables that scikit-learn's wheel carries: the outputs, and the program that made them.

Every second row is learnt from, the others are predicted. The outputs are in ``weka_outputs.json``, and were written by

    python tests/support/weka_outputs.py weka.jar

with Java 17, from the root of the repository. ``benchmarks/weka.py`` says where the jar comes from.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

FOLDER = Path(__file__).parent
OUTPUTS = FOLDER / "weka_outputs.json"
PROGRAM = FOLDER / "WekaOutputs.java"
J48 = "weka.classifiers.trees.J48"
NAIVE_BAYES = "weka.classifiers.bayes.NaiveBayes"
TREE_OPTIONS = ("", "-U", "-S", "-C 0.1", "-C 0.5 -M 5", "-U -J", "-U -J -doNotMakeSplitPointActualValue", "-O -M 1")
BAYES_OPTIONS = ("", "-K")
TREE_TABLES = ("iris", "glass2", "krvskp", "zoo", "breast_cancer", "wine")
BAYES_TABLES = ("iris", "glass2", "breast_cancer", "wine")


class Table(NamedTuple):
    """A table whose rows are divided: the even ones are learnt from."""

    X: pd.DataFrame
    y: pd.Series

    def half(self, first: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Return every second row from the first one, and their classes as text."""
        return self.X.iloc[first::2], np.asarray(self.y)[first::2].astype(str)

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the file, which is the order of the program's numbers."""
        return [str(label) for label in self.y.cat.categories]


class Output(NamedTuple):
    """What the program says of one learner on one table.

    Attributes
    ----------
    leaves, nodes : int
        -1 if the learner is no tree. WEKA counts a branch for every value of a nominal column, also for those that no
        row has.
    predicted : ndarray of shape (m,), str
    """

    leaves: int
    nodes: int
    predicted: np.ndarray


def load_table(name: str) -> Table:
    """Return a table by its name: nominal columns as categories, in the order of the file."""
    if name in ("breast_cancer", "wine"):
        X, y = (load_breast_cancer if name == "breast_cancer" else load_wine)(return_X_y=True, as_frame=True)
        return Table(X, y.astype(str).astype("category"))
    import arff
    from wheel_data import TARGETS, wheel_text

    text = arff.loads(wheel_text(name))
    frame = pd.DataFrame(text["data"], columns=[attribute for attribute, _ in text["attributes"]])
    for attribute, domain in text["attributes"]:
        if isinstance(domain, list):
            frame[attribute] = pd.Categorical(frame[attribute], categories=domain)
        elif domain.upper() == "STRING":
            frame = frame.drop(columns=attribute)
        else:
            frame[attribute] = frame[attribute].astype(float)
    y = frame.pop(TARGETS[name])
    return Table(frame, y)


def read_output(learner: str, options: str, table: str) -> Output:
    """Return the stored output of a learner with these options on a table."""
    stored = json.loads(OUTPUTS.read_text())[f"{learner} {options}".strip()][table]
    classes = np.array(load_table(table).classes)
    codes = [int(digit) for digit in stored["predicted"]]
    return Output(stored["leaves"], stored["nodes"], classes[codes])


def list_cases() -> list[tuple[str, str, str]]:
    """Return class, options and table of each output."""
    trees = [(J48, options, table) for options in TREE_OPTIONS for table in TREE_TABLES]
    return trees + [(NAIVE_BAYES, options, table) for options in BAYES_OPTIONS for table in BAYES_TABLES]


def main(jar: Path) -> None:
    """Run WEKA on all cases, and store what it says."""
    from benchmarks.weka_process import write_arff

    lines = []
    with TemporaryDirectory() as folder:
        for table in {*TREE_TABLES, *BAYES_TABLES}:
            data = load_table(table)
            for first in (0, 1):
                write_arff(Path(folder) / f"{table}-{first}.arff", *data.half(first), data.classes)
        for learner, options, table in list_cases():
            files = [str(Path(folder) / f"{table}-{first}.arff") for first in (0, 1)]
            lines.append("\t".join([*files, f"{learner} {options}".strip()]))
        jobs = Path(folder) / "jobs.txt"
        jobs.write_text("\n".join(lines))
        command = ["java", "-Dweka.packageManager.offline=true", "-cp", f"{jar.parent}/*", str(PROGRAM), str(jobs)]
        environment = {**os.environ, "WEKA_HOME": folder}  # nothing is written into the user's home
        output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    stored: dict[str, dict[str, dict[str, int | str]]] = {}
    models = output.split("model ")[1:]
    for (learner, options, table), said in zip(list_cases(), models, strict=True):
        head, *rows = said.strip().splitlines()
        leaves, nodes = (int(word) for word in head.split())
        predicted = "".join(row.split()[1] for row in rows)
        of_learner = stored.setdefault(f"{learner} {options}".strip(), {})
        of_learner[table] = {"leaves": leaves, "nodes": nodes, "predicted": predicted}
    OUTPUTS.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parents[1]))
    main(Path(sys.argv[1]))
