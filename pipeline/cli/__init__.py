"""The command line: `main` dispatches to the verbs; each verb is a module with a function that takes its arguments."""
