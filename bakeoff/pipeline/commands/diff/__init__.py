"""Why two runs differ, and which options of a run matter."""
