"""Measure the CPU seconds before a command answers.

    python benchmarks/startup.py                              each command, five times
    python benchmarks/startup.py --against ../bakeoff-0.2     in turn with another checkout, with the ratio
    python benchmarks/startup.py --docs                       also writes docs/benchmarks.md

A checkout is run by the interpreter in its ``.venv``, or else by this one. Each has a folder of its own with a store of
a few runs, and an empty home. The first round is not counted. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.tables import machine, replace_part

ROOT = Path(__file__).resolve().parents[1]
SMALL_TABLE = "size,colour,price\n" + "".join(f"{row % 7},{'red' if row % 3 else 'blue'},{row}\n" for row in range(200))
FRESH_FOLDER = "the default run in an empty folder"
REFUSED = "learner=nkn"
SEEDS = count(1)
COMMANDS: dict[str, Sequence[str]] = {
    FRESH_FOLDER: (),
    "the default run in a folder with a store": (),
    "plan of ten jobs": ("plan", "-m", "learner=knn", "seed=range(10)"),
    "inspect of a file of 200 rows": ("inspect", "table.csv"),
    "list": ("list",),
    "--help": ("--help",),
    "a refused word": (REFUSED,),
    "1,000 finished jobs again": (
        "-m",
        "learner=majority",
        "dataset=iris",
        "tracking.models=false",
        "seed=range(1000)",
    ),
}
STORED = {
    "predict of five rows by a registered model": ("predict", "flowers@champion", "rows.csv"),
    "explain of titanic's champion": ("explain", "titanic@champion", "output=page.html"),
    "replay latest": ("replay", "latest"),
    "compare of three stored runs": ("compare", "sweep=three", "keep=false"),
    "ship": ("ship", "latest", "as=flowers@candidate"),
    "work": ("work", "learner=knn", "dataset=colours"),
    "diff of two stored runs whose hybrids are finished": ("diff", "knn", "svm", "sweep=three"),
    "figures latest all": ("figures", "latest", "all"),
}
"""Commands on stored runs, to be compared with the default run in a folder with a store."""
COMMANDS |= STORED
TITANIC = (
    "dataset=file",
    f"dataset.path={ROOT / 'examples' / 'titanic' / 'titanic.csv'}",
    "dataset.target=survived",
    "dataset.drop=[boat,body]",
)
PREPARED = (
    ("-m", *TITANIC, "learner=logistic_regression", "preprocessing=auto", "evaluation=kfold"),
    ("ship", "latest", "as=titanic@champion"),
    ("-m", "learner=knn,svm,naive_bayes", "dataset=iris", "evaluation=kfold", "hydra.sweep.dir=three"),
    ("ship", "best", "dataset=iris", "as=flowers@champion"),
    STORED["diff of two stored runs whose hybrids are finished"],
)
"""Commands that store these runs."""
FIVE_ROWS = "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n" + "5.1,3.5,1.4,0.2\n" * 5
IMPORTS = "importing numpy, pandas and sklearn"


@dataclass(frozen=True)
class Checkout:
    """A version of bakeoff, and the folder in which its commands run."""

    root: Path
    folder: Path

    def measure(self, name: str) -> float:
        """Return the CPU seconds of a command."""
        if name == IMPORTS:
            return self._run(["-c", "import numpy, pandas, sklearn"], self.folder)
        words = ["-m", "bakeoff", *COMMANDS[name]]
        if name == FRESH_FOLDER:
            with TemporaryDirectory() as folder:
                return self._run(words, Path(folder))
        if not COMMANDS[name]:  # otherwise the run would not be the first of its configuration
            words.append(f"seed={next(SEEDS)}")
        return self._run(words, self.folder)

    def prepare(self) -> None:
        """Write the files and store the runs that commands read."""
        self.folder.mkdir()
        (self.folder / "table.csv").write_text(SMALL_TABLE)
        (self.folder / "rows.csv").write_text(FIVE_ROWS)
        for words in PREPARED:
            self._run(["-m", "bakeoff", *words], self.folder)

    def _run(self, words: Sequence[str], folder: Path) -> float:
        python = self.root / ".venv" / "bin" / "python"
        command = [str(python if python.is_file() else sys.executable), *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(self.root)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command,
            cwd=folder,
            env={**environment, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            check=REFUSED not in words,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_commands(checkouts: Sequence[Checkout], names: Sequence[str], rounds: int) -> Iterator[list[str]]:
    """Yield a row for each command: its name, the median for each checkout, and the ratio of two."""
    for name in names:
        for checkout in checkouts:  # the first time, files are read from the disk
            checkout.measure(name)
        times = [[checkout.measure(name) for checkout in checkouts] for _ in range(rounds)]
        medians = [statistics.median(taken) for taken in zip(*times, strict=True)]
        ratio = [f"{medians[0] / medians[1]:.2f}"] if len(medians) > 1 else []
        yield [name, *(f"{median:.2f} s" for median in medians), *ratio]


def main() -> None:
    """Measure the requested commands and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="commands whose name contains one of these words; all if left out")
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    names = [name for name in (IMPORTS, *COMMANDS) if any(word in name for word in asked.what or [""])]
    with TemporaryDirectory() as folder:
        checkouts = []
        for position, root in enumerate(root for root in (ROOT, asked.against) if root is not None):
            checkout = Checkout(root.resolve(), Path(folder, str(position)))
            checkout.prepare()
            checkouts.append(checkout)
        rows = list(measure_commands(checkouts, names, asked.rounds))
    heading = ["command", "CPU", "before", "ratio"][: len(rows[0])]
    lines = [" | ".join(row) for row in (heading, ["---", *["---:"] * (len(heading) - 1)], *rows)]
    table = "\n".join(f"| {line} |" for line in lines)
    print(table)
    if asked.docs:
        replace_part("startup", f"{machine('python benchmarks/startup.py ' + ' '.join(sys.argv[1:]))}\n\n{table}")


if __name__ == "__main__":
    main()
