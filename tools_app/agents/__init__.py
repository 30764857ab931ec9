"""The agents of this site. Naming this module in AGENTSITE_AGENTS offers them all."""

from .backup import BackupAgent
from .expenses import ExpensesAgent
from .explainer import ExplainerAgent
from .flights import TravelAgent
from .patient import PatientAgent
from .research import ResearchAgent
from .scheduling import SchedulingAgent
from .two_speeds import TwoSpeedsAgent
from .weather import WeatherAgent

__all__ = [
    "BackupAgent",
    "ExpensesAgent",
    "ExplainerAgent",
    "PatientAgent",
    "ResearchAgent",
    "SchedulingAgent",
    "TravelAgent",
    "TwoSpeedsAgent",
    "WeatherAgent",
]
