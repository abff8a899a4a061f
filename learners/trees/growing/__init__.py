"""Growing trees level by level: the loop, the builder that records nodes and splits, and the assembly of arrays."""
