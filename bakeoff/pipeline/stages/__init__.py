"""The stages of an experiment. None imports another; `bakeoff.pipeline.experiment` joins them."""
