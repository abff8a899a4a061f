"""The page of an inspection: one HTML file without links to the network. `write_page` is its only function."""
