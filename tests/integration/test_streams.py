"""The command ends with a sentence and an exit code, whatever its streams, its folder and its locale are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BAKEOFF = f"{sys.executable} -m bakeoff"
PLACES = {
    "output without a reader": (f"{BAKEOFF} list | head -1; exit ${{PIPESTATUS[0]}}", 0),
    "errors without a reader": (f"{BAKEOFF} list no_such_group 2>&1 >/dev/null | true; exit ${{PIPESTATUS[0]}}", 2),
    "a document without a reader": (f"{BAKEOFF} list dataset to=json | true; exit ${{PIPESTATUS[0]}}", 0),
    "a document and closed output": (f"{BAKEOFF} list dataset to=json >&-", 0),
    "output that is closed": (f"{BAKEOFF} list dataset >&-", 0),
    "errors that are closed": (f"{BAKEOFF} list no_such_group 2>&-", 2),
    "all streams closed": (f"{BAKEOFF} list dataset <&- >&- 2>&-", 0),
    "a terminal of seven bits": (f"PYTHONIOENCODING=ascii {BAKEOFF} list learner", 0),
    "a terminal of eight bits": (f"PYTHONIOENCODING=latin-1 {BAKEOFF} list évaluation", 2),
    "a plain locale": (f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {BAKEOFF} list évaluation", 2),
    "a folder that was deleted": (f"mkdir gone && cd gone && rmdir ../gone && {BAKEOFF} list dataset", 2),
    "a narrow terminal without colours": (f"TERM=dumb COLUMNS=1 {BAKEOFF} list dataset", 0),
    "no home": (f"env -u HOME {BAKEOFF} list dataset", 0),
}
"""What is odd about the surroundings -> a command of bash, and its exit code."""
CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("place", PLACES)
def test_odd_surroundings_end_no_command_in_a_traceback(tmp_path: Path, place: str) -> None:
    command, status = PLACES[place]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    answer = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True)
    said = (answer.stdout + answer.stderr).decode("latin-1")
    assert answer.returncode == status, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert not list(tmp_path.iterdir())
