"""The Python of docs/python.md runs from top to bottom."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning")
def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "titanic" / "titanic.csv", tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names = {"rows": load_wine(as_frame=True).data}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)  # the page of this repository
    assert "svm" in capsys.readouterr().out
    frames = list(tmp_path.glob("outputs/frames/*/*.parquet"))
    assert {frame.name for frame in frames} == {"frame.parquet", "query.parquet", "titanic.parquet"}
