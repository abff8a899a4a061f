"""What is read from stored runs: scores, configurations, predictions, looks at test parts."""
