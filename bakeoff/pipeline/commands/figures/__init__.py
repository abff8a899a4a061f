"""Figures of finished runs, and the verb that draws them.

Figures of a run are requested with ``figures: [NAME]`` or ``figures: [{_target_: CLASS, ...}]``;
`bakeoff.pipeline.config.options` lists the names. `run_figure` contains their base classes and the data they are drawn
from.
"""
