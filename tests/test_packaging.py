"""The wheel carries everything that the command needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def test_the_wheel_carries_configurations_tables_and_both_packages(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    carried = set(ZipFile(wheel).namelist())
    for folder, pattern in (
        ("conf", "*.yaml"),
        ("pipeline", "*.py"),
        ("pipeline", "*.csv"),
        ("learners", "*.py"),
        ("hydra_plugins", "*.py"),
    ):
        files = {str(file.relative_to(ROOT)) for file in (ROOT / folder).rglob(pattern)}
        assert files
        assert files <= carried
    assert not any(name.startswith("tests/") for name in carried)


def test_tested_versions_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(line.startswith("#") or line.count("==") == 1 for line in lines)
    assert not any("/" in line or "@" in line for line in lines)
