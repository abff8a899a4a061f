"""Use of stored models: predicting from a file or over HTTP, and refitting on all rows."""
