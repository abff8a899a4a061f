"""The card of a run: its description at the top of its page in MLflow."""

from bakeoff.pipeline.card.card import MAX_CARD_LETTERS, CardContent, write_card

__all__ = ["MAX_CARD_LETTERS", "CardContent", "write_card"]
