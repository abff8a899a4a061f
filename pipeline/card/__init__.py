"""The card of a run: its description at the top of its page in MLflow."""

from bakeoff.pipeline.card.matrix_picture import MAX_PICTURE_CLASSES, draw_confusion_matrix
from bakeoff.pipeline.card.text import MAX_CARD_LETTERS, CardContent, write_card

__all__ = ["MAX_CARD_LETTERS", "MAX_PICTURE_CLASSES", "CardContent", "draw_confusion_matrix", "write_card"]
