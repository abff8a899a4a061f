"""What a paper takes from a comparison, a capsule of a study, and its verification."""
