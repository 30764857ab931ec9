"""A search that takes as long as eight answers of 50 ms."""

from django.apps import AppConfig


class Pace(AppConfig):
    name = "bench"

    def ready(self) -> None:
        # After the tools' own, which follows the demo model's pace.
        from tools_app.services import configure_services

        configure_services(delay=0.05)
