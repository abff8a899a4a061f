"""The figures of a comparison as PDF files for a paper."""

from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.reports import DRAWINGS, draw_ranks
from bakeoff.pipeline.errors import UserError


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
    from bakeoff.pipeline.figures.panels import fix_colours, render_pdf, render_svg

    result = comparison.results[0]
    picture = draw_ranks(comparison, result)
    if picture is None:
        reason = "there is one dataset." if result.overall is None else result.overall.too_few
        raise UserError(
            f"output=*{suffix} is the critical-difference diagram, for which mean ranks were not tested: "
            f"{reason or 'there are two configurations.'} Compare at least three configurations on six datasets, or "
            "write another report, such as output=report.html."
        )
    figure, caption = picture
    return render_pdf(figure) if suffix == ".pdf" else fix_colours(render_svg(figure, "diagram", caption)).encode()
