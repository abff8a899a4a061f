"""Run every experiment of the lectures and copy its figures into ``docs/figures/``: ``make figures``.

With arguments, only the experiments that they select are run: ``python docs/figures.py experiment=kernels``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from mlflow.entities import Run
from PIL import Image

FIGURES = Path(__file__).parent / "figures"
ALL_EXPERIMENTS = "experiment=glob(*,exclude=none)"
PALETTE_COLOURS = 128
"""More colours than a figure needs; an image with a palette takes a third of the bytes."""


def main() -> None:
    """Run the experiments in a store of their own, and copy their figures."""
    overrides = sys.argv[1:] or [ALL_EXPERIMENTS]
    FIGURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        run_sweep(overrides, folder)
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        for run in client.search_runs(experiments):
            copy_figures(client, run)


def run_sweep(overrides: Sequence[str], folder: str) -> None:
    """Run bakeoff's sweep in a folder; models are not stored."""
    command = [sys.executable, "-m", "bakeoff", "-m", *overrides, "tracking.models=false"]
    subprocess.run(command, cwd=folder, check=True)


def copy_figures(client: MlflowClient, run: Run) -> None:
    """Copy the pictures of a run, each under the name of its experiment."""
    experiment = run.data.params["experiment"]
    for artifact in client.list_artifacts(run.info.run_id):
        if artifact.path.endswith(".png"):
            source = client.download_artifacts(run.info.run_id, artifact.path)
            picture = Image.open(source).convert("RGB").quantize(PALETTE_COLOURS)
            picture.save(FIGURES / f"{experiment}-{artifact.path}", optimize=True)


if __name__ == "__main__":
    main()
