"""What comes back from other machines, in the order of the jobs, each waited for when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from hydra.core.utils import JobReturn

from bakeoff.pipeline.launcher.payload import lost


class Returns(Sequence[JobReturn]):
    """Values of jobs that may still run.

    A job whose process died comes back as FAILED, with the reason as its value: it costs itself and no other.  Whoever
    stops waiting, by Ctrl-C say, ends the jobs that are still to come.

    Parameters
    ----------
    waits : sequence of callable
        Each waits for one job.
    cancel : callable
        Ends all jobs.
    """

    def __init__(self, waits: Sequence[Callable[[], JobReturn]], cancel: Callable[[], None]) -> None:
        self._waits = waits
        self._arrived: dict[int, JobReturn] = {}
        self.cancel = cancel

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._waits)

    @overload
    def __getitem__(self, index: int) -> JobReturn: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[JobReturn]: ...

    def __getitem__(self, index: int | slice) -> JobReturn | Sequence[JobReturn]:
        """Wait for a job."""
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        if place not in self._arrived:
            self._arrived[place] = self._wait(place)
        return self._arrived[place]

    def _wait(self, place: int) -> JobReturn:
        try:
            return self._waits[place]()
        except Exception as error:
            return lost(error)
        except BaseException:
            self.cancel()
            raise
