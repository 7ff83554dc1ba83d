"""The one currency: `Domain` and `DomainSequence`."""

from gradapt.domains.domain import Domain
from gradapt.domains.sequence import DomainSequence
from gradapt.domains.windows import ByCount, ByEdges, ByQuantile, ByValue, from_table

__all__ = ["ByCount", "ByEdges", "ByQuantile", "ByValue", "Domain", "DomainSequence", "from_table"]
