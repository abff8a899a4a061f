"""The project that docs/own-parts.md describes, written from the text of the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from page_commands import list_commands

PAGE = (Path(__file__).parents[2] / "docs" / "own-parts.md").read_text()
BLOCKS = dict(re.findall(r"^```(?:python|yaml)\n# (\S+\.(?:py|yaml))\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
"""Each file of the page, by its path, without the comment that names it."""
COMMANDS = [command.words[1:] for command in list_commands("docs/own-parts.md") if not command.reason]
"""The words of each command after ``bakeoff``."""
N_FLOWERS = 80


def write_project(folder: Path) -> None:
    """Write the files of the page, and the table that one of them reads."""
    for name, text in BLOCKS.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    generator = np.random.default_rng(0)
    kinds = np.resize(["a", "b"], N_FLOWERS)
    length = generator.normal(np.where(kinds == "a", 5.0, 7.0), 1.0)
    frame = pd.DataFrame({"length": length.round(2), "width": generator.normal(2.0, 0.5, N_FLOWERS).round(2)})
    (folder / "data").mkdir()
    frame.assign(kind=kinds).to_csv(folder / "data" / "flowers.csv", index=False)
