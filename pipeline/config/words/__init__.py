"""The words of a command line, read one by one before anything is composed."""
