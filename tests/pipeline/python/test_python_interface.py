"""``import bakeoff``: what it offers, and how light it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bakeoff
from bakeoff.version import PACKAGE_FOLDER

ROOT = PACKAGE_FOLDER.parent


def test_importing_is_light_and_names_are_loaded_when_they_are_used() -> None:
    heavy = "'numpy', 'pandas', 'sklearn', 'mlflow', 'hydra', 'matplotlib', 'rich', 'bakeoff.pipeline'"
    code = (
        f"import sys, bakeoff; loaded = [name for name in ({heavy}) if name in sys.modules]; "
        "print(loaded, bakeoff.run.__name__, bakeoff.UserError.__name__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[] run UserError"


def test_all_public_names_exist_and_are_listed() -> None:
    assert set(bakeoff.__all__) == set(bakeoff.MODULES) <= set(dir(bakeoff))
    for name in bakeoff.__all__:
        assert getattr(bakeoff, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = bakeoff.runn
