"""What a paper takes from a comparison: tables, a methods section, references and figures; and a capsule to verify."""
