"""The claims ledger: each statement with who made it, what was reported, and a verdict that is computed."""

from .ledger import CHECKS, Check, Claim, judge, load
from .outcome import Evidence, Outcome, Verdict

__all__ = ["CHECKS", "Check", "Claim", "Evidence", "Outcome", "Verdict", "judge", "load"]
