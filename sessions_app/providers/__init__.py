"""The built-in language models, and the only code that knows a vendor.

Agents import from here: `model = default_model()`. Nothing here knows Django; `configure` says what is what.
"""

from .anthropic_api import AnthropicSettings, anthropic
from .backup import with_backup
from .configuration import ProviderConfiguration, configure
from .default import default_model
from .demo_model import demo
from .labels import label_of

__all__ = [
    "AnthropicSettings",
    "ProviderConfiguration",
    "anthropic",
    "configure",
    "default_model",
    "demo",
    "label_of",
    "with_backup",
]
