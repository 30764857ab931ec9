from django.apps import AppConfig


class SessionsAppConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from sessions_app import checks, discovery, providers
        from sessions_app.conf import configuration

        settings = configuration()
        providers.configure(
            providers.ProviderConfiguration(
                anthropic_api_key=settings.ANTHROPIC_API_KEY,
                anthropic_model=settings.ANTHROPIC_MODEL,
                anthropic_base_url=settings.ANTHROPIC_BASE_URL,
                demo_delay=settings.DEMO_DELAY,
            )
        )
        discovery.discover()
        checks.register()
