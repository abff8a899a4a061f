"""The results of jobs on other machines, in the order of the jobs; reading a result waits for its job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from hydra.core.utils import JobReturn

from bakeoff.pipeline.launcher.payload import make_failed_return


class JobReturns(Sequence[JobReturn]):
    """The results of jobs that may still be running.

    The result of a job whose process died has the status FAILED and the reason as its value; others are not affected.
    An interrupt while waiting, such as Ctrl-C, cancels all jobs.

    Parameters
    ----------
    waits : sequence of callable
        One for each job; waits for the job and returns its result.
    cancel : callable
        Cancels all jobs.
    """

    def __init__(self, waits: Sequence[Callable[[], JobReturn]], cancel: Callable[[], None]) -> None:
        self._waits = waits
        self._known: dict[int, JobReturn] = {}
        self.cancel = cancel

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._waits)

    @overload
    def __getitem__(self, index: int) -> JobReturn: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[JobReturn]: ...

    def __getitem__(self, index: int | slice) -> JobReturn | Sequence[JobReturn]:
        """Wait for a job, and return its result."""
        if isinstance(index, slice):
            positions = range(*index.indices(len(self)))
            return [self[position] for position in positions]
        # range raises IndexError, and counts negative positions from the end.
        position = range(len(self))[index]
        if position not in self._known:
            self._known[position] = self._wait_for(position)
        return self._known[position]

    def _wait_for(self, position: int) -> JobReturn:
        try:
            return self._waits[position]()
        except Exception as error:
            return make_failed_return(error)
        except BaseException:
            self.cancel()
            raise
