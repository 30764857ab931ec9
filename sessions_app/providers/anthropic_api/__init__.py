"""Anthropic's models through the vendor's own client. The only package that knows its wire format."""

from .model import AnthropicModel, anthropic
from .settings import AnthropicSettings

__all__ = ["AnthropicModel", "AnthropicSettings", "anthropic"]
