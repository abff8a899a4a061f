"""What a store holds: listed, shown and deleted."""
