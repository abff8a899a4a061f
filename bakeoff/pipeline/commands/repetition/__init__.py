"""A stored run repeated: fitted again, and its numbers compared with those of the store; it has no verb."""
