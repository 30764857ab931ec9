"""Settings for tests: the real ones, in an environment that does not depend on who runs the tests.

DATABASE_URL is kept: the tests marked `database` run on SQLite and on PostgreSQL.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_scratch = tempfile.mkdtemp(prefix="agentsite-tests-")
atexit.register(shutil.rmtree, _scratch, ignore_errors=True)

# What a developer's shell holds must not reach a test: no real model is asked, no real broker is filled.
for _name in [name for name in os.environ if name.startswith(("AGENTSITE_", "ANTHROPIC_", "BROKER_", "REDIS_"))]:
    del os.environ[_name]

os.environ |= {
    "AGENTSITE_SECRET_KEY": "only for tests, and long enough for Django's checks to be content with it",
    "AGENTSITE_ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
    "AGENTSITE_INSECURE_HTTP": "1",
    "AGENTSITE_EMBEDDED_WORKER": "0",
    "AGENTSITE_DEMO_DELAY": "0",
    "AGENTSITE_DATA_DIR": _scratch,
}

from agentsite.settings import *  # noqa: E402, F403
from agentsite.settings import DATABASES, STORAGES  # noqa: E402

# A file, because SQLite's in-memory database refuses threads that write at the same time. The process id keeps two
# test runs on one PostgreSQL server apart.
DATABASES["default"]["TEST"] = {
    "NAME": str(Path(_scratch, "test.sqlite3"))
    if "sqlite" in DATABASES["default"]["ENGINE"]
    else f"test_{DATABASES['default']['NAME']}_{os.getpid()}"
}
# Static files are served from where they lie: nobody collects them for a test.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
