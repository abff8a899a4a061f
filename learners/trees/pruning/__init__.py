"""Cutting a grown tree back."""
