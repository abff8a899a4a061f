"""The Python interface provided by ``import bakeoff``, with the same keys, numbers and errors as the command line."""
