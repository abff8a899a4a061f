"""Limits on the time and the memory that clients of the server may take up."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, final

import pyarrow as pa

from bakeoff.pipeline.commands.serve.answer import BUSY, TIMED_OUT, TOO_LARGE, RequestError

if TYPE_CHECKING:
    from starlette.requests import Request
    from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_BODY_BYTES = 256_000_000
"""The maximum size of all bodies that are held at the same time; larger tables are files for `bakeoff predict`."""
BODY_SECONDS = 60
"""The number of seconds that a client may take to send a body."""
MIN_RELEASED_BYTES = 1_000_000
"""The size of a body from which its memory is returned to the operating system."""
RELEASE_SECONDS = 1


def make_connection_class() -> type[H11Protocol]:
    """Return a class of connections that are closed if a header does not arrive before the timeout.

    uvicorn stops its timer when the first byte of a header arrives; here, it runs until the header is complete.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    @final
    class Connection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            close = self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, close)

        def data_received(self, data: bytes) -> None:
            self.conn.receive_data(data)
            self.handle_events()

    return Connection


@final
class Bodies:
    """The bodies that a server holds.

    Attributes
    ----------
    n_bytes : int
        Their size.
    """

    def __init__(self) -> None:
        self.n_bytes = 0

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[bytearray]:
        """Receive the body of a request, and release it at the end of the block.

        Parameters
        ----------
        request : Request

        Raises
        ------
        RequestError
            The body is too large, alone or together with the others, or does not arrive in time.
        """
        body = bytearray()
        try:
            await self._collect(request, body)
            yield body
        finally:
            self.n_bytes -= len(body)
            if len(body) >= MIN_RELEASED_BYTES:
                # By then, nothing refers to the rows any more, nor to an error that they caused.
                loop = asyncio.get_running_loop()
                loop.call_later(RELEASE_SECONDS, loop.run_in_executor, None, release_memory)

    async def _collect(self, request: Request, body: bytearray) -> None:
        n_received = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                # What exceeds the limit is received as well, because clients read the response after sending the body.
                async for piece in request.stream():
                    n_received += len(piece)
                    if self.n_bytes + len(piece) <= MAX_BODY_BYTES:
                        self.n_bytes += len(piece)
                        body += piece
        except TimeoutError:
            raise RequestError(TIMED_OUT, f"the body did not arrive within {BODY_SECONDS} seconds.") from None
        limit = f"{MAX_BODY_BYTES // 1_000_000} MB"
        if n_received > MAX_BODY_BYTES:
            raise RequestError(TOO_LARGE, f"the body is larger than {limit}; use bakeoff predict for files.")
        if n_received > len(body):
            raise RequestError(
                BUSY, f"the bodies of all current requests exceed {limit}; send the request again later."
            )


def release_memory() -> None:
    """Return unused memory to the operating system, which the C library and Arrow otherwise keep for later."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(AttributeError):  # other C libraries than glibc
            ctypes.CDLL(None).malloc_trim(0)
