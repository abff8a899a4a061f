"""The identity of a job: a digest of everything that determines its result, and of nothing else."""
