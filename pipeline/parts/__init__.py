"""User-defined parts: `bakeoff check` tries the part that a file describes, `bakeoff init` makes a project for parts.

A check is a run: `trial` puts the part into the default job on made tables and runs it twice; `check` turns what comes
into findings.
"""
