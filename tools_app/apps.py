from typing import cast

from django.apps import AppConfig
from django.conf import settings


class ToolsAppConfig(AppConfig):
    name = "tools_app"
    verbose_name = "Agents and tools"

    def ready(self) -> None:
        from tools_app.services import configure_services

        # An airline takes as long to ask as the demo model takes for ten words; without a delay nothing waits.
        configure_services(delay=10 * cast("float", settings.AGENTSITE["DEMO_DELAY"]))
