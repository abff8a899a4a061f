"""docs/preprocessing.md lists every option, and its file of steps works; test_pages.py runs its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from command import Bakeoff
from wheel_data import wheel_frame

from bakeoff.pipeline.config.options import read_options
from bakeoff.pipeline.stages import preprocessing

PAGE = (Path(__file__).parents[2] / "docs" / "preprocessing.md").read_text()


def test_the_page_lists_every_option_and_every_class() -> None:
    table = PAGE.partition("## Options by name")[2].partition("## ")[0]
    listed = set(re.findall(r"`(\w+)`", table.partition("| `impute`")[2])) | {"impute"}
    assert set(read_options("preprocessing")) - {"auto", "default", "none"} <= listed
    classes = {
        "AsNominal",
        "GroupRareValues",
        "OrderCodes",
        "AsIntervals",
        "EntropyDiscretizer",
        "DateParts",
        "EncodeText",
    }
    assert classes <= set(preprocessing.__all__)
    assert all(f"| `{name}` |" in PAGE for name in classes | {"make_selection"})


def test_the_file_of_steps_of_the_page_prepares_the_columns_of_titanic(bakeoff: Bakeoff) -> None:
    (steps,) = re.findall(r"```yaml\n# my_conf/preprocessing/mine.yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    file = bakeoff.folder / "my_conf" / "preprocessing" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(steps)
    frame = wheel_frame("titanic").drop(columns=["boat", "body"])
    frame.to_csv(bakeoff.folder / "titanic.csv", index=False)
    (line,) = re.findall(r"^bakeoff (--config-dir .*)$", PAGE, flags=re.MULTILINE)
    answer = bakeoff(*shlex.split(line), "evaluation.metrics=[accuracy]", "tracking=none")
    assert answer.status == 0, answer.err
    accuracy = float(re.findall(r"^accuracy.* ([\d.]+)(?: ±.*)?$", answer.out, flags=re.MULTILINE)[0])
    assert accuracy > 0.75
