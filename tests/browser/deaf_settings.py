"""The real settings with a channel layer that drops every message."""

from channels.layers import InMemoryChannelLayer

from agentsite.settings import *  # noqa: F403


class DeafLayer(InMemoryChannelLayer):
    async def group_send(self, group, message):
        return None


CHANNEL_LAYERS = {"default": {"BACKEND": "tests.browser.deaf_settings.DeafLayer"}}
