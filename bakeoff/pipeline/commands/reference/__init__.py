"""Results by which others compare theirs without running them, and that anybody can verify."""
