"""The Django project: settings, the ASGI entry point and the Celery application."""

from agentsite.celery import app as celery_app

# Imported here so that tasks declared with `shared_task` find this application in every process.
__all__ = ["celery_app"]
