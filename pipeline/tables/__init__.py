"""Tables, built once by each report, and their formats."""
