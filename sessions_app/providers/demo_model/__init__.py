"""The built-in demo model: it plays the examples without a network, the same way each time.

It sees what every model sees: messages and the tools on offer. It knows no agent and no row.
"""

from .model import DemoModel, demo

__all__ = ["DemoModel", "demo"]
