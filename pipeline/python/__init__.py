"""The Python interface: what ``import bakeoff`` offers, with the same keys, numbers and errors as the command line."""
