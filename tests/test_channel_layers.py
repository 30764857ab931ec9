"""The in-memory channel layer between the threads of one process."""

import asyncio
import threading
import time

import pytest

from agentsite.channel_layers import LoopSafeInMemoryChannelLayer


async def receive_from_thread(layer, send) -> tuple[dict, float]:
    """Wait on an idle loop for what `send` sends from a thread with a loop of its own; the message and its delay."""
    waiting = asyncio.create_task(layer.receive("watcher"))
    await asyncio.sleep(0.05)
    sent = []

    def work() -> None:
        sent.append(time.monotonic())
        asyncio.run(send())

    threading.Thread(target=work).start()
    message = await asyncio.wait_for(waiting, timeout=5)
    return message, time.monotonic() - sent[0]


@pytest.mark.parametrize("to_group", [True, False])
async def test_a_message_from_another_thread_wakes_the_servers_loop(to_group):
    layer = LoopSafeInMemoryChannelLayer()
    await layer.group_add("watchers", "watcher")
    nudge = {"type": "nudge", "seq": 7}
    message, delay = await receive_from_thread(
        layer, lambda: layer.group_send("watchers", nudge) if to_group else layer.send("watcher", nudge)
    )
    assert message == nudge
    assert delay < 0.3


async def test_a_message_from_the_same_loop_needs_no_detour():
    layer = LoopSafeInMemoryChannelLayer()
    await layer.group_add("watchers", "watcher")
    await layer.group_send("watchers", {"type": "nudge"})
    assert await layer.receive("watcher") == {"type": "nudge"}


def test_sending_when_nobody_ever_listened_or_the_server_has_stopped_is_harmless():
    layer = LoopSafeInMemoryChannelLayer()
    asyncio.run(layer.group_send("watchers", {"type": "nudge"}))

    async def listen_once() -> None:
        await layer.send("watcher", {"type": "nudge"})
        await layer.receive("watcher")

    asyncio.run(listen_once())
    asyncio.run(layer.group_send("watchers", {"type": "nudge"}))
