"""What only the command may say: whose code runs, and what Hydra itself does."""
