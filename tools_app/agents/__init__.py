"""The agents of this site. Naming this module in AGENTSITE_AGENTS offers them all."""

from .expenses import ExpensesAgent
from .flights import TravelAgent
from .patient import PatientAgent
from .research import ResearchAgent
from .scheduling import SchedulingAgent

__all__ = ["ExpensesAgent", "PatientAgent", "ResearchAgent", "SchedulingAgent", "TravelAgent"]
