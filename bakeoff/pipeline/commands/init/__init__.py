"""User-defined parts: `bakeoff check` tests the part described by a file, `bakeoff init` creates a project for parts.

A check is a run: `trial` puts the part into the default job on generated tables and runs it twice, and `check` turns
the results into findings.
"""
