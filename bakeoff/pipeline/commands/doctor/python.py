"""``bakeoff.doctor``: what a careful colleague would say about a run or a study."""

from typing import Any

from bakeoff.pipeline.commands.doctor.diagnosis import Diagnosis, diagnose
from bakeoff.pipeline.commands.doctor.request import DoctorRequest
from bakeoff.pipeline.python.call import own_process_state
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import SweepResult, find_store, list_run_ids
from bakeoff.pipeline.sweep.compose import override_text


def doctor(subject: str | RunResult | SweepResult, *, ignore: dict[str, str] | None = None, **keys: Any) -> Diagnosis:
    """Examine a run or a sweep by all checks.

    Parameters
    ----------
    subject : str, RunResult or SweepResult
        The run, as its id, latest, best or a registered model, or the sweep.
    ignore : dict, optional
        Findings to accept: code -> reason.
    **keys
        Further keys of the command: ``quick``, ``seconds``, ``alpha``, ``checks``, ``keep``, ``trust``,
        ``tracking__uri`` and ``tracking__experiment``. The store defaults to that of the result.

    Returns
    -------
    Diagnosis
        Its ``findings`` have code, severity, text, cure and p_value.

    Raises
    ------
    UserError
        The run or the sweep does not exist, or a check is unknown.
    """
    named = {"sweep": subject.name} if isinstance(subject, SweepResult) else {"run": list_run_ids(subject)[0]}
    store = find_store((subject,), keys)
    with own_process_state():
        request = DoctorRequest(**named, doctor__ignore=override_text(ignore or {}), **store)
        return diagnose(request, lambda sentence: None)
