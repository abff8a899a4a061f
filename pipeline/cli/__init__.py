"""The command line: `main` dispatches to the verbs, and each verb is a module with a function that takes its words."""
