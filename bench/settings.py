"""Settings for measurements: the demo model does not wait, but a search stays open long enough to be seen."""

from agentsite.settings import *  # noqa: F403
from agentsite.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "bench.pace.Pace"]
