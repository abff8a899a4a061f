"""Draw the pictures of docs/lectures.md and docs/figures.md into ``docs/figures/``: ``make figures``.

The lectures' pictures are those of all experiments, and are named ``EXPERIMENT-FILE``. Those of docs/figures.md are
named by the figure, and are made by the first command of its section. With arguments, only the experiments that they
select are run (``python docs/figures.py experiment=kernels``), or only the named figures (``python docs/figures.py
roc``).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from mlflow.entities import Run
from PIL import Image

FIGURES = Path(__file__).parent / "figures"
PAGE = Path(__file__).parent / "figures.md"
SECTION = re.compile(r"^### (\w+)\n\n```console\n\$ bakeoff (.*)\n", flags=re.MULTILINE)
ALL_EXPERIMENTS = "experiment=glob(*,exclude=none)"
PALETTE_COLOURS = 128
"""More colours than a figure needs; an image with a palette takes a third of the bytes."""


def main() -> None:
    """Run the commands in stores of their own, and copy their figures."""
    FIGURES.mkdir(exist_ok=True)
    words = sys.argv[1:]
    overrides = [word for word in words if "=" in word]
    if overrides or not words:
        draw_experiments(overrides or [ALL_EXPERIMENTS])
    commands = dict(SECTION.findall(PAGE.read_text()))
    names = [word for word in words if "=" not in word]
    for name in names or (() if words else commands):
        draw_figure(name, shlex.split(commands[name]))


def draw_experiments(overrides: Sequence[str]) -> None:
    """Run the experiments as a sweep, and copy the pictures of each under its name."""
    with TemporaryDirectory() as folder:
        run_command(["-m", *overrides], folder)
        for client, run in find_runs(folder):
            copy_pictures(client, run, prefix=f"{run.data.params['experiment']}-")


def draw_figure(name: str, words: Sequence[str]) -> None:
    """Run the command of a section of docs/figures.md, and copy the picture that it is about."""
    with TemporaryDirectory() as folder:
        run_command(words, folder)
        for client, run in find_runs(folder):
            copy_pictures(client, run)
    assert (FIGURES / f"{name}.png").exists(), name


def run_command(words: Sequence[str], folder: str) -> None:
    """Run bakeoff in a folder; models are not stored."""
    command = [sys.executable, "-m", "bakeoff", *words, "tracking.models=false"]
    subprocess.run(command, cwd=folder, check=True)


def find_runs(folder: str) -> Iterator[tuple[MlflowClient, Run]]:
    """Yield all runs of the store in a folder."""
    client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    for run in client.search_runs(experiments):
        yield client, run


def copy_pictures(client: MlflowClient, run: Run, prefix: str = "") -> None:
    """Copy the pictures of a run."""
    for artifact in client.list_artifacts(run.info.run_id):
        if artifact.path.endswith(".png"):
            source = client.download_artifacts(run.info.run_id, artifact.path)
            picture = Image.open(source).convert("RGB").quantize(PALETTE_COLOURS)
            picture.save(FIGURES / f"{prefix}{artifact.path}", optimize=True)


if __name__ == "__main__":
    main()
