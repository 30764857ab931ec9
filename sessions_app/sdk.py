"""Everything an agent author imports.

Models come from `sessions_app.providers`, and `sessions_app.testing` tests an agent without a server.
"""

from .core.agent import Agent, SessionState
from .core.data import Data
from .core.effects import ContextItemEffect, EffectContext, EffectEnded, SessionEffect
from .core.errors import AgentsiteError, DefinitionError, EventRejected, HandlerError
from .core.events import ContextItemEvent, Sender, SessionEvent
from .core.items import ContextItem, ItemResult, RenderResult
from .core.language_model import (
    Completed,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    Terminated,
    TextReporter,
    ToolSpecification,
    Usage,
)
from .core.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, UserMessagePart
from .core.platform import UserMessage
from .core.results import (
    AgentState,
    EventResult,
    SessionArgs,
    SessionResult,
    StateUpdate,
    SystemPromptRenderResult,
    add_context_item,
    delete_context_item,
    dispatch_to_context_item,
    set_agent_state,
    set_context_item_order,
    set_title,
)
from .core.tools import Tool, ToolContext, ToolResult

__all__ = [
    "Agent",
    "AgentState",
    "AgentsiteError",
    "Completed",
    "ContextItem",
    "ContextItemEffect",
    "ContextItemEvent",
    "Data",
    "DefinitionError",
    "EffectContext",
    "EffectEnded",
    "EventRejected",
    "EventResult",
    "HandlerError",
    "ItemResult",
    "LanguageModel",
    "Message",
    "ModelRequest",
    "ModelResponse",
    "ReasoningPart",
    "RenderResult",
    "Sender",
    "SessionArgs",
    "SessionEffect",
    "SessionEvent",
    "SessionResult",
    "SessionState",
    "StateUpdate",
    "SystemPromptRenderResult",
    "Terminated",
    "TextPart",
    "TextReporter",
    "Tool",
    "ToolCallPart",
    "ToolContext",
    "ToolResult",
    "ToolResultPart",
    "ToolSpecification",
    "Usage",
    "UserMessage",
    "UserMessagePart",
    "add_context_item",
    "delete_context_item",
    "dispatch_to_context_item",
    "set_agent_state",
    "set_context_item_order",
    "set_title",
]
