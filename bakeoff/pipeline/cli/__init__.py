"""The command line: `main` dispatches to verbs, each of which is a function that takes its arguments."""
