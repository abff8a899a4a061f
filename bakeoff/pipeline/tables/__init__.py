"""Tables, which each report builds once, and their output formats."""
