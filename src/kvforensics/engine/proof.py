"""Where does a value come from?"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kvforensics.engine.lines import EngineLine

EXCERPT = 200


class Proof(Struct, frozen=True):
    """A line of the evidence. `excerpt` is the part that matters, never text of a prompt or an answer."""

    source: str
    line: int
    excerpt: str

    def document(self) -> dict[str, Any]:
        """The proof as it is written."""
        return {"source": self.source, "line": self.line, "excerpt": self.excerpt}


def proof_of(line: EngineLine, excerpt: str) -> Proof:
    """The proof that a line of an engine gives."""
    return Proof(line.source, line.line, excerpt[:EXCERPT])


def is_anchored(text: str, at: int) -> bool:
    """Whether what stands at `at` was printed by the engine itself, and not quoted from a request.

    Requests can hold any text. The engine's own words come first on the line, behind at most a short prefix.
    """
    head = text[:at]
    return at <= 160 and "obj=" not in head and "{" not in head and "'" not in head and '"' not in head
