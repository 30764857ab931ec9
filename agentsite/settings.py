"""Django settings. The environment is read here and nowhere else.

Without debug mode the first two are required; everything else has a default that needs no service to be installed.

AGENTSITE_SECRET_KEY       Signs cookies. The same in every process; at least 50 random characters.
AGENTSITE_ALLOWED_HOSTS    Host names this site answers to, separated by commas.
AGENTSITE_DEBUG            1 for development: error pages, a secret key of its own, sign-in with one click. Default 0.
AGENTSITE_TRUSTED_ORIGINS  Further origins that may post forms, such as https://app.example.org.
AGENTSITE_BEHIND_PROXY     1 if a proxy ends TLS and always sets X-Forwarded-Proto itself. Default 0.
AGENTSITE_INSECURE_HTTP    1 to serve plain HTTP without debug mode: cookies are not limited to HTTPS. Default 0.
AGENTSITE_DATA_DIR         Where files made at run time go. Default .data in the project.
AGENTSITE_LOG_LEVEL        DEBUG, INFO, WARNING or ERROR. Default INFO.
DATABASE_URL               sqlite:///file or postgresql://user:password@host:5432/name. Default: SQLite in the data
                           directory.
AGENTSITE_DATABASE_POOL    PostgreSQL connections of one process at most. Default 15.
BROKER_URL                 Celery broker: memory://, redis://… or amqp://… Default memory://, one process only.
REDIS_URL                  Redis for live updates between processes. Default: within the process only.
AGENTSITE_NAMESPACE        Names this site in a broker and a Redis that others use too. Default agentsite.
AGENTSITE_EMBEDDED_WORKER  1 to run a worker inside the web process. Default: only with BROKER_URL=memory://.
AGENTSITE_WORKER_THREADS   Threads of one worker. Default 4.
AGENTSITE_AGENTS           Modules that define agents, separated by commas. Default tools_app.agents.
AGENTSITE_DEMO_DELAY       Seconds between two words of the built-in demo model. Default 0.03.
ANTHROPIC_API_KEY          Key for Anthropic's models. Default: none, the demo model answers.
ANTHROPIC_MODEL            Model id to ask for. Default: the provider's own choice.
ANTHROPIC_BASE_URL         Another address of the API, such as a gateway. Default: Anthropic's.
"""

import os
from pathlib import Path

from agentsite.development_key import development_key
from agentsite.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment(os.environ)

# --- where and how it runs

DEBUG = env.flag("AGENTSITE_DEBUG", default=False)
DATA_DIR = BASE_DIR / env.text("AGENTSITE_DATA_DIR", ".data")
DATA_DIR.mkdir(parents=True, exist_ok=True)

ASGI_APPLICATION = "agentsite.asgi.application"
ROOT_URLCONF = "agentsite.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

INSTALLED_APPS = [
    "daphne",  # First: replaces `runserver` with one that speaks websocket.
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "sessions_app",
    "tools_app",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "agentsite.middleware.response_headers_middleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every view asks for a sign-in unless it is marked `login_not_required`.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- data

DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        default=f"sqlite:///{DATA_DIR / 'agentsite.sqlite3'}",
        base_dir=BASE_DIR,
        pool_size=env.integer("AGENTSITE_DATABASE_POOL", default=15, minimum=1),
    ),
}

# --- who may come in

if DEBUG:
    SECRET_KEY = env.text("AGENTSITE_SECRET_KEY") or development_key(DATA_DIR / "development-secret-key")
    ALLOWED_HOSTS = env.words("AGENTSITE_ALLOWED_HOSTS")
else:
    SECRET_KEY = env.required(
        "AGENTSITE_SECRET_KEY",
        "Set it to 50 or more random characters, the same in every process. "
        "To try Agentsite on your own machine instead, set AGENTSITE_DEBUG=1.",
    )
    ALLOWED_HOSTS = env.words("AGENTSITE_ALLOWED_HOSTS")
    env.required("AGENTSITE_ALLOWED_HOSTS", "Set it to the host names people use, such as agents.example.org.")
CSRF_TRUSTED_ORIGINS = env.words("AGENTSITE_TRUSTED_ORIGINS")

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

# Named, because cookies do not tell ports apart: another project on localhost would sign people out.
SESSION_COOKIE_NAME = "agentsite_login"
CSRF_COOKIE_NAME = "agentsite_csrf"

HTTPS_ONLY = not DEBUG and not env.flag("AGENTSITE_INSECURE_HTTP", default=False)
SESSION_COOKIE_SECURE = HTTPS_ONLY
CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_REDIRECT_EXEMPT = [r"^health/"]  # Load balancers ask over plain HTTP.
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if HTTPS_ONLY else 0
BEHIND_PROXY = env.flag("AGENTSITE_BEHIND_PROXY", default=False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"

# More than any form may hold, so that a text over a limit is refused with the limit and given back.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500

# --- static files

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
# In debug mode files are served from where they lie, so that an edit shows on reload.
WHITENOISE_USE_FINDERS = DEBUG

# --- live updates and background work

NAMESPACE = env.text("AGENTSITE_NAMESPACE", "agentsite")
REDIS_URL = env.text("REDIS_URL")
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": NAMESPACE},
    }
    if REDIS_URL
    else {"BACKEND": "agentsite.channel_layers.LoopSafeInMemoryChannelLayer"}
}

CELERY_BROKER_URL = env.text("BROKER_URL", "memory://")
IN_MEMORY_BROKER = CELERY_BROKER_URL.startswith("memory:")
if IN_MEMORY_BROKER:
    # kombu warns about a URL without a host, looks into an empty queue once a second by default, and waits that long
    # again whenever the prefetch window is full. Looking this often takes 2 % of a core and spares a click 8 ms.
    # Without a window 200 tasks sent at once took 0.2 s, with one of 4 1.1 s; nobody else could take them anyway.
    CELERY_BROKER_URL = "memory://localhost/"
    CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.005}
else:
    # A sender whose broker refuses gives up at once (2 ms) instead of trying for the whole timeout (2 s).
    CELERY_BROKER_TRANSPORT_OPTIONS = {"max_retries": 0, "interval_start": 0, "interval_step": 0, "interval_max": 0}
CELERY_WORKER_PREFETCH_MULTIPLIER = 0 if IN_MEMORY_BROKER else 1
CELERY_BROKER_CONNECTION_TIMEOUT = 2
# A worker, though, tries for as long as it takes.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A message is a hint that a row is due; a lost one is found by the sweeper. So: acknowledge early, keep no result,
# and do not hold up a person's click to send one again.
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_DEFAULT_QUEUE = NAMESPACE
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = env.integer("AGENTSITE_WORKER_THREADS", default=4, minimum=1)
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TIMEZONE = TIME_ZONE

# --- the product's own settings; sessions_app.conf reads them

AGENTSITE = {
    "AGENTS": env.words("AGENTSITE_AGENTS", "tools_app.agents"),
    "EMBEDDED_WORKER": env.flag("AGENTSITE_EMBEDDED_WORKER", default=IN_MEMORY_BROKER),
    "ANTHROPIC_API_KEY": env.text("ANTHROPIC_API_KEY"),
    "ANTHROPIC_MODEL": env.text("ANTHROPIC_MODEL"),
    "ANTHROPIC_BASE_URL": env.text("ANTHROPIC_BASE_URL"),
    "DEMO_DELAY": env.seconds("AGENTSITE_DEMO_DELAY", default=0.03),
    "CHECK_PURITY": DEBUG,
}

# --- logs

LOG_LEVEL = env.choice("AGENTSITE_LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "key_value": {
            "()": "agentsite.logs.KeyValueFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "key_value"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "agentsite": {"level": LOG_LEVEL},
        "sessions_app": {"level": LOG_LEVEL},
        "tools_app": {"level": LOG_LEVEL},
        # Without its own handlers Django's log reaches the root's, in the same form and in every mode.
        "django": {"handlers": [], "level": "WARNING"},
    },
}
