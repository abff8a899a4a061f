"""The version of bakeoff, and the folder of its package."""

from pathlib import Path

__version__ = "0.2.0"
PACKAGE_FOLDER = Path(__file__).parent
"""The folder that contains ``conf``, ``learners`` and ``pipeline``."""
