"""x"""
from __future__ import annotations
from pathlib import Path
from bakeoff.pipeline.explanation.explanation import Explanation
def render_page(explanation: Explanation) -> str: return ""
def write_page(explanation: Explanation, target: Path) -> None: target.write_text(render_page(explanation))
