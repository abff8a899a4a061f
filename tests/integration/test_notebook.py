"""The notebook of the examples runs from top to bottom."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
TIMEOUT_SECONDS = 400


@pytest.fixture
def notebook() -> Any:
    """Return the notebook as it is stored."""
    return importlib.import_module("nbformat").read(NOTEBOOK, as_version=4)


@pytest.mark.slow
def test_every_cell_runs_and_shows_its_result(notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "titanic", tmp_path / "titanic")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    client = importlib.import_module("nbclient").NotebookClient(
        notebook, timeout=TIMEOUT_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [_read_output(cell) for cell in notebook.cells if cell.cell_type == "code"]
    _, inspected, ran, _, crossed, swept, compared, _, shipped, predicted, checked, worked = shown
    assert "boat" in inspected
    assert "reveals the target through its missing cells" in inspected
    assert "decision_tree kfold titanic" in ran
    assert "fitted on" in ran
    assert "predicted" in crossed
    assert "4 jobs: 3 finished, 1 skipped" in swept or "4 jobs" in swept
    assert "random_forest" in compared
    assert "fitted on all" in shipped
    assert "probability_1" in predicted
    assert "MALE" in checked
    assert "<iframe" in worked
    assert (tmp_path / "outputs" / "mlflow.db").is_file()


def _read_output(cell: Any) -> str:
    """Return what a cell shows, as HTML where it has some; nothing that it prints may be a traceback."""
    texts = []
    for output in cell.outputs:
        assert output.output_type != "error", os.linesep.join(output.get("traceback", []))
        data = output.get("data", {})
        texts.append(data.get("text/html") or data.get("text/plain") or output.get("text", ""))
    return "\n".join(texts)
