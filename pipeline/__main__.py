"""``python -m pipeline`` is ``bakeoff``."""

from pipeline.cli import main

main()
