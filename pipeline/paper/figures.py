"""The figures of a comparison as PDF files for a paper."""

from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.reports import DRAWINGS, write_picture_files
from bakeoff.pipeline.errors import UserError

DIAGRAM = "critical_difference"


def list_figures(comparison: Comparison) -> dict[str, bytes]:
    """Return the figures for the first metric, the critical-difference diagram first.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    dict of str to bytes
        File name -> PDF; figures without data are omitted. Equal comparisons produce identical bytes.
    """
    from bakeoff.pipeline.figures.panels import render_pdf

    pictures = {name: draw(comparison, comparison.results[0]) for name, draw in DRAWINGS.items()}
    return {f"{name}.pdf": render_pdf(picture[0]) for name, picture in pictures.items() if picture}


def draw_diagram(comparison: Comparison, suffix: str) -> bytes:
    """Return the critical-difference diagram for the first metric as a file.

    Parameters
    ----------
    comparison : Comparison
    suffix : {".pdf", ".svg"}

    Raises
    ------
    UserError
        The mean ranks were not tested, so there is no critical difference.
    """
    if suffix == ".pdf":
        files = list_figures(comparison)
    else:
        files = {name: text.encode() for name, text in write_picture_files(comparison).items()}
    if f"{DIAGRAM}{suffix}" not in files:
        overall = comparison.results[0].overall
        reason = "there is one dataset." if overall is None else overall.too_few
        raise UserError(
            f"output=*{suffix} is the critical-difference diagram, for which mean ranks were not tested: "
            f"{reason or 'there are two configurations.'} Compare at least three configurations on five datasets, or "
            "write another report, such as output=report.html."
        )
    return files[f"{DIAGRAM}{suffix}"]
