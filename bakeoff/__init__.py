"""Declarative machine-learning experiments: Hydra describes them, NumPy learners run them, MLflow keeps them."""

__version__ = "0.2.0"
