"""``python -m bakeoff`` is ``bakeoff``."""

from bakeoff.pipeline.cli.main import main

main()
