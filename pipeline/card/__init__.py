"""The card of a run: its description at the top of its page in MLflow."""

from bakeoff.pipeline.card.card import (
    MAX_CARD_LETTERS,
    MAX_PICTURE_CLASSES,
    CardContent,
    draw_confusion_matrix,
    write_card,
)

__all__ = ["MAX_CARD_LETTERS", "MAX_PICTURE_CLASSES", "CardContent", "draw_confusion_matrix", "write_card"]
