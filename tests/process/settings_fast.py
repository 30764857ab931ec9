"""The site's own settings with short times, so that a test sees in seconds what else takes a quarter of a minute."""

import os

from agentsite.settings import *  # noqa: F403
from agentsite.settings import AGENTSITE

AGENTSITE |= {
    "LEASE": float(os.environ.get("TEST_LEASE", "2")),
    "SWEEP_INTERVAL": float(os.environ.get("TEST_SWEEP_INTERVAL", "0.3")),
}
