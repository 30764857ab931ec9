"""A stand-in for Anthropic's API whose first word comes after a fixed time. It notes when requests and words went."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

WORDS = [
    "Of",
    "course.",
    "Here",
    "is",
    "an",
    "answer",
    "in",
    "a",
    "few",
    "words,",
    "so",
    "that",
    "its",
    "first",
    "one",
    "can",
    "be",
    "seen",
    "before",
    "the",
    "last.",
]

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "stand-in",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@dataclass
class StandIn:
    """Answers every request alike. Times are seconds since the epoch, one for each request."""

    first_word_after: float
    word_after: float = 0.02
    port: int = 0
    asked: list[float] = field(default_factory=list)
    spoke: list[float] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What to set ANTHROPIC_BASE_URL to."""
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while await self._read_request(reader):
                due = time.time() + self.first_word_after
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                await self._stream(writer, due)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _read_request(self, reader: asyncio.StreamReader) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        await reader.readexactly(int(lengths[0]) if lengths else 0)
        self.asked.append(time.time())
        return True

    async def _stream(self, writer: asyncio.StreamWriter, due: float) -> None:
        await _send(writer, "message_start", message=MESSAGE)
        await _send(writer, "content_block_start", index=0, content_block={"type": "text", "text": ""})
        await asyncio.sleep(due - time.time())
        self.spoke.append(time.time())
        for word in WORDS:
            await _send(writer, "content_block_delta", index=0, delta={"type": "text_delta", "text": word + " "})
            await asyncio.sleep(self.word_after)
        await _send(writer, "content_block_stop", index=0)
        ending = {"stop_reason": "end_turn", "stop_sequence": None}
        await _send(writer, "message_delta", delta=ending, usage={"output_tokens": len(WORDS)})
        await _send(writer, "message_stop")


async def _send(writer: asyncio.StreamWriter, kind: str, **values: object) -> None:
    text = f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(text), text))
    await writer.drain()


@contextmanager
def stand_in(first_word_after: float) -> Iterator[StandIn]:
    """Run the stand-in on a thread of its own."""
    answering = StandIn(first_word_after)
    started = threading.Event()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopped.set))
        server = await asyncio.start_server(answering.answer, "127.0.0.1", 0)
        answering.port = server.sockets[0].getsockname()[1]
        started.set()
        await stopped.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    started.wait()
    try:
        yield answering
    finally:
        stop[0]()
        thread.join()
