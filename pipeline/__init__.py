"""The pipeline: from composed configuration to tracked runs, one module a stage."""
