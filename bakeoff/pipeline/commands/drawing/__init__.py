"""What pictures share, and the pictures of calculations by hand; it has no verb.

`panels` has the style, and writes the SVG of pages; `model_marks` draws regions, rows and the edges of trees; `steps`
draws a calculation by hand. All of them import Matplotlib, so code that needs a picture imports them late.
"""
