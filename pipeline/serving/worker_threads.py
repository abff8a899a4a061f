"""Threads for predictions, so that other requests are answered meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, final

from bakeoff.pipeline.serving.request_error import UNAVAILABLE, RequestError

N_THREADS = 4
"""Requests that are predicted at the same time."""


@final
class WorkerThreads:
    """Runs functions in threads, some at a time.

    Unlike those of the standard library, the threads do not keep the process alive: a long prediction does not delay
    its end.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads: int = N_THREADS) -> None:
        self._free = asyncio.Semaphore(n_threads)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function, computed in a thread.

        Parameters
        ----------
        function : callable
        *arguments : object

        Raises
        ------
        RequestError
            The server ends before the function does.
        """
        async with self._free:
            loop = asyncio.get_running_loop()
            result: asyncio.Future[Any] = loop.create_future()

            def compute() -> None:
                try:
                    value = function(*arguments)
                except BaseException as error:
                    _report(loop, result, result.set_exception, error)
                else:
                    _report(loop, result, result.set_result, value)

            threading.Thread(target=compute, daemon=True, name="prediction").start()
            try:
                return await result
            except asyncio.CancelledError:
                raise RequestError(UNAVAILABLE, "the server has ended before the prediction was computed.") from None


def _report(
    loop: asyncio.AbstractEventLoop, result: asyncio.Future[Any], setter: Callable[[Any], None], value: Any
) -> None:
    """Hand a result over to the loop, unless the request or the loop has ended."""

    def set_unless_done() -> None:
        if not result.done():
            setter(value)

    try:
        loop.call_soon_threadsafe(set_unless_done)
    except RuntimeError:  # the loop is closed
        return
