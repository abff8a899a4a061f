"""The report of a comparison as one self-contained HTML page."""
