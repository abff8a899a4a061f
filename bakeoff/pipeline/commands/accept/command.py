"""``bakeoff accept``: whether a run may replace the champion of a line of tries."""

from bakeoff.pipeline.commands.accept.request import AcceptRequest
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note, show_controls

EXIT_NO = 1


def judge_run(request: AcceptRequest) -> Answer:
    """Keep a run as the champion of a line or not, so that false keeps in the whole line are as rare as alpha says.

    Returns
    -------
    Answer
        Its exit code is 0 for a keep, for a line that was opened or listed, and for a gain on the reserved rows; 1 for
        no.

    Raises
    ------
    UserError
        The run cannot be judged by the rules of the line.
    """
    from bakeoff.pipeline.commands.accept.judgement import accept_run

    answer = accept_run(request)
    for note in answer.notes:
        print_note(f"accept: {note}")
    print(show_controls(repr(answer)))
    return Answer("accept", answer.to_dict, 0 if answer.is_accepted else EXIT_NO)
