"""The generated parts of docs/benchmarks.md and other pages, and the description of the machine and the command."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def replace_part(part: str, text: str, file: Path | None = None) -> None:
    """Replace the text between the markers of a part of docs/benchmarks.md, or of another page."""
    file = DOCS if file is None else file
    begin, end = f"<!-- {part}: generated -->", f"<!-- {part}: end -->"
    page = file.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{file} has no place for this table: write the lines {begin} and {end} where it belongs.")
    before, after = page.split(begin)[0], page.split(end)[1]
    file.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def machine(command: str) -> str:
    """Return the command, the processor and the versions, as Markdown."""
    import sklearn

    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []:
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return (
        f"`{command.strip()}`\n\n{cpu}, {os.cpu_count()} cores, one BLAS thread; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}."
    )
