"""Approval: a person decides about a call before its tool runs, and exactly what they saw is what runs."""

from __future__ import annotations

from typing import assert_never

from pydantic import ValidationError

from .canonical import canonical
from .change import Change
from .data import field_errors
from .errors import EventRejected
from .events import Sender
from .items import ItemResult
from .platform import Approval, Approve, ChangeArguments, Decline, RunTool, ToolError
from .state import ItemRecord
from .text import is_blank


def decide_approval(change: Change, event: Approve | Decline | ChangeArguments, record: ItemRecord) -> None:
    """Take a person's decision over: run the tool, tell the model why not, or ask again with other arguments."""
    approval = Approval.model_validate(record.data, extra="ignore")
    match event:
        case Approve(digest=seen):
            _approve(change, approval, record, seen, event.sender)
        case Decline(reason=reason):
            _decide(change, approval, record, event.sender, decision="declined", reason=reason)
            told = "A person declined this call." if is_blank(reason) else f"A person declined this call: {reason}"
            change.create_item(ItemResult(ToolError(message=told)), parent=record.parent)
        case ChangeArguments():
            _change_arguments(change, approval, record, event)
        case _:
            assert_never(event)


def _approve(change: Change, approval: Approval, record: ItemRecord, seen: str, sender: Sender) -> None:
    if seen != approval.digest:
        raise EventRejected("conflict", "This approval is for other arguments. Look at them again.")
    _decide(change, approval, record, sender, decision="approved")
    change.start_effect(RunTool(name=approval.tool, arguments=approval.arguments), owner=record.parent)


def _change_arguments(change: Change, approval: Approval, record: ItemRecord, event: ChangeArguments) -> None:
    tool = change.agent.find_tool(approval.tool)
    if tool is None:
        raise EventRejected("conflict", f"There is no tool {approval.tool} here any more. Decline this instead.")
    try:
        tool.model_validate(dict(event.arguments))
    except ValidationError as error:
        raise EventRejected("invalid", "The arguments are not filled in right.", errors=field_errors(error)) from error
    changed = canonical(event.arguments)
    told = f"A person changed the arguments of this call to {changed}"
    _decide(change, approval, record, event.sender, decision="changed", message=told)
    change.create_item(ItemResult(Approval.of(approval.tool, changed)), parent=record.parent)


def _decide(change: Change, approval: Approval, record: ItemRecord, sender: Sender, **decision: str) -> None:
    change.change_item(record, ItemResult(approval.evolve(by=sender.name or sender.kind, **decision)))
