"""Identity of a job: one digest of everything that decides its result, and of nothing else."""
