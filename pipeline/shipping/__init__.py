"""Shipping: the procedure of a run, fitted on all rows and registered under a name, so that others can call it."""
