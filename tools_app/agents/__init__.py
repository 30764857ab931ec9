"""The agents of this site. Naming this module in AGENTSITE_AGENTS offers them all."""

from .expenses import ExpensesAgent
from .flights import TravelAgent

__all__ = ["ExpensesAgent", "TravelAgent"]
