"""Convert YAML and the command line to the objects of an experiment."""
