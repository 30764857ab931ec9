"""The channel layer of a single process."""

import asyncio
from typing import Any

from channels.layers import InMemoryChannelLayer


class LoopSafeInMemoryChannelLayer(InMemoryChannelLayer):
    """Channels' in-memory layer, usable from any thread of the process.

    Its queues belong to the server's event loop. The stock layer fills them from whichever loop sends, which does
    not wake the server's loop: a message from a worker thread waited up to a second. Here the sending loop hands
    the message over and goes on.
    """

    _home: asyncio.AbstractEventLoop | None = None

    async def receive(self, channel: str) -> dict[str, Any]:
        self._home = asyncio.get_running_loop()
        message: dict[str, Any] = await super().receive(channel)
        return message

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        if home := self._foreign_home():
            asyncio.run_coroutine_threadsafe(super().send(channel, message), home)
        else:
            await super().send(channel, message)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if home := self._foreign_home():
            asyncio.run_coroutine_threadsafe(super().group_send(group, message), home)
        else:
            await super().group_send(group, message)

    def _foreign_home(self) -> asyncio.AbstractEventLoop | None:
        home = self._home
        if home is None or home is asyncio.get_running_loop() or not home.is_running():
            return None
        return home
