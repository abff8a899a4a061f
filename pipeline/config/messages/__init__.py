"""From exceptions of Hydra and OmegaConf to sentences."""
