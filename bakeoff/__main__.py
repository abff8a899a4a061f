"""``python -m bakeoff`` is ``bakeoff``."""

from bakeoff.pipeline.cli import main

main()
