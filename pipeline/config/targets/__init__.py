"""Names of classes in a configuration: which may be named, and how they become objects."""
