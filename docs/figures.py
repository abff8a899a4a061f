"""Run every experiment of the lectures and copy its figures into ``docs/figures/``: ``make figures``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from PIL import Image

FIGURES = Path(__file__).parent / "figures"
COLOURS = 128
"""More colours than a figure needs; a palette makes the files a third as large."""


def main() -> None:
    """Run the experiments in a store of their own; the words of the command line go to bakeoff."""
    with TemporaryDirectory() as folder:
        words = sys.argv[1:] or ["experiment=glob(*,exclude=none)"]
        command = [sys.executable, "-m", "bakeoff", "-m", *words, "tracking.models=false"]
        subprocess.run(command, cwd=folder, check=True)
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        FIGURES.mkdir(exist_ok=True)
        for run in client.search_runs([client.get_experiment_by_name("bakeoff").experiment_id]):
            for artifact in client.list_artifacts(run.info.run_id):
                if artifact.path.endswith(".png"):
                    source = Path(client.download_artifacts(run.info.run_id, artifact.path))
                    name = f"{run.data.params['experiment']}-{artifact.path}"
                    Image.open(source).convert("RGB").quantize(COLOURS).save(FIGURES / name, optimize=True)


if __name__ == "__main__":
    main()
