"""Compare every learner with its counterpart in scikit-learn: time, quality and memory.

    python benchmarks/learners.py                               a few minutes
    python benchmarks/learners.py --full --docs                 all sizes, into docs/benchmarks.*: an hour or more
    python benchmarks/learners.py --full --docs --merge --learners knn svm      measure these again, keep the others
    python benchmarks/learners.py --docs --merge --learners                     only write the page from the CSV file
    python benchmarks/learners.py --learners knn svm --rows 1000 10000 --columns 20 --classes 2
    python benchmarks/learners.py --learners svm --data --rows --files letter.dat    a file without a header

Both are built from their files in conf/learner and receive the same rows through the public API. They are timed
alternately in one process on one core, and the tables give medians of CPU time. Columns are standardized, and nominal
ones are encoded for scikit-learn as a user would encode them. The CSV file is written after every learner, so that an
interrupted benchmark keeps its measurements. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `learners` is the package, not this file
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

from bakeoff.learners import REGISTRY
from benchmarks.cells import Cell, as_text, merged, read_csv, write_csv
from benchmarks.growth import caption, plot
from benchmarks.measuring import Task, side_by_side
from benchmarks.objectives import OBJECTIVES
from benchmarks.summary import page_summary, summary
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.tasks import BUNDLED, bundled, from_file, made, nominal


def main() -> None:
    """Measure the requested learners, print a line for each cell, and write the table and the plot."""
    asked = arguments()
    asked.output.mkdir(parents=True, exist_ok=True)
    file = asked.output / "benchmarks.csv"
    cells = read_csv(file) if asked.merge else []
    print(as_text())
    for name in asked.learners:
        cells = merged(cells, list(measure(name, asked)), list(REGISTRY))
        write_csv(cells, file)
    told = summary(cells)
    print(f"\n{told}")
    plot(cells, file.with_suffix(".png"))
    if asked.docs:
        command = machine("python benchmarks/learners.py " + " ".join(sys.argv[1:]))
        command += " Other rows are of earlier commands." * asked.merge
        told = f"{page_summary(cells)} Every number is in [benchmarks.csv](benchmarks.csv)."
        replace_part("learners", f"{command}\n\n{told}\n\n![CPU time against n: {caption(cells)}](benchmarks.png)\n")


def measure(name: str, asked: argparse.Namespace) -> Iterator[Cell]:
    """Yield and print the cells of a learner; if a table was skipped, larger ones are skipped as well."""
    given_up = set()
    for task in tasks(REGISTRY[name](), asked):
        shape = (task.family, task.X.shape[1], task.c)
        if task.family != "bundled" and shape in given_up:
            measured: Any = "not tried, as fewer rows were skipped"
        else:
            measured = side_by_side(build(name), counterpart(name, task), task, asked.seconds, OBJECTIVES.get(name))
        if isinstance(measured, str):
            given_up.add(shape)
        cell = Cell.of(name, task, measured)
        print(as_text(cell), flush=True)
        yield cell


def arguments() -> argparse.Namespace:
    """Read the command line; the defaults are small sizes, or with ``--full`` all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name in REGISTRY if _conf(f"sklearn_{name}").is_file()]
    parser.add_argument("--learners", nargs="*", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--data", nargs="*", choices=BUNDLED, default=list(BUNDLED), help="bundled data")
    parser.add_argument("--files", nargs="*", type=Path, default=[], help="of numbers, with the class last")
    parser.add_argument("--rows", nargs="*", type=int, help="n of made data")
    parser.add_argument("--columns", nargs="*", type=int, help="d of made data")
    parser.add_argument("--classes", nargs="*", type=int, help="c of made data")
    parser.add_argument("--full", action="store_true", help="n 1e3 to 1e5, d 2 to 100, c 2 to 10")
    parser.add_argument(
        "--seconds", type=float, help="for repetitions; one that takes four times as long ends the cell"
    )
    parser.add_argument("--output", type=Path, default=Path("outputs"), help="folder of the CSV file and the plot")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md, .csv and .png instead")
    parser.add_argument("--merge", action="store_true", help="keep other cells of the CSV file that is there")
    asked = parser.parse_args()
    small, full = ([1000, 10000], [20], [2], 2.0), ([1000, 10000, 100000], [2, 10, 20, 100], [2, 3, 10], 4.0)
    for key, value in zip(("rows", "columns", "classes", "seconds"), full if asked.full else small, strict=True):
        if getattr(asked, key) is None:
            setattr(asked, key, value)
    asked.output = DOCS.parent if asked.docs else asked.output
    return asked


def tasks(learner: Any, asked: argparse.Namespace) -> Iterator[Task]:
    """Yield the requested tasks that the learner can be fitted on."""
    from sklearn.base import is_classifier

    classifies = is_classifier(learner)
    yield from (bundled(name) for name in asked.data if (name != "diabetes") == classifies)
    yield from (from_file(path) for path in asked.files if classifies)
    for n in asked.rows:
        for d in asked.columns:
            yield from (made(n, d, c) for c in (asked.classes if classifies else [0]))
    if hasattr(learner, "categorical_features"):
        yield from (nominal(n, 10, 3 if classifies else 0) for n in asked.rows)


def build(option: str) -> Any:
    """Return the estimator of conf/learner/OPTION.yaml."""
    from omegaconf import OmegaConf

    from bakeoff.pipeline.config.build import build_object

    config = OmegaConf.create({"seed": 0, "learner": OmegaConf.load(_conf(option))})
    node: Any = OmegaConf.to_container(config, resolve=True)
    return build_object(node["learner"], "learner", [])


def counterpart(name: str, task: Task) -> Any:
    """Return scikit-learn's estimator, in a pipeline with an encoder if there are nominal columns."""
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    theirs = build(f"sklearn_{name}")
    if not task.name.startswith("nominal"):
        return theirs
    if name == "naive_bayes":
        return make_pipeline(OrdinalEncoder(), CategoricalNB())
    return make_pipeline(OneHotEncoder(sparse_output=False, handle_unknown="ignore"), theirs)


def _conf(option: str) -> Path:
    return Path(__file__).resolve().parents[1] / "bakeoff" / "conf" / "learner" / f"{option}.yaml"


if __name__ == "__main__":
    main()
