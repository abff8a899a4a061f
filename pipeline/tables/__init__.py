"""Tables: what they hold, built once by each report, and how each format shows them."""
