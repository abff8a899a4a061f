"""The pipeline: from a composed configuration to tracked runs."""
