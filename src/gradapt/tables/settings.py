"""What a user asks for, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gradapt.domains import ByQuantile
from gradapt.domains.windows import Windows
from gradapt.errors import InputError
from gradapt.trust import Gate, Keep

__all__ = ["Column", "FilePosition", "Keep", "Limits", "Method", "RowPosition", "Settings"]


@dataclass(frozen=True)
class Column:
    """Order rows by a column."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RowPosition:
    """Order rows as they stand in the table."""

    def __str__(self) -> str:
        return "@row"


@dataclass(frozen=True)
class FilePosition:
    """Each file is a snapshot, in the order they were given."""

    def __str__(self) -> str:
        return "@file"


class Method(Enum):
    """How to adapt."""

    GOAT = "goat"
    GST = "gst"
    DIRECT = "direct"
    SOURCE = "source"


@dataclass(frozen=True)
class Limits:
    """How much is sampled from large tables.

    Attributes
    ----------
    training : int
        Rows of each window that models are trained on.
    transport : int
        Rows of each window that plans are made between and that the checks look at.
    """

    training: int = 20_000
    transport: int = 2_000

    def __post_init__(self) -> None:
        if self.training < 10 or self.transport < 10:
            raise InputError(f"limits must be at least 10 rows, got {self.training} and {self.transport}")


@dataclass(frozen=True)
class Settings:
    """One adaptation of a user's table.

    Attributes
    ----------
    label : str
        Column of the labels; only those of the first window are used.
    order : Column, RowPosition or FilePosition
    windows : Windows
        `ByQuantile(5)` by default.
    model : classifier, optional
        Untrained; logistic regression by default.
    encoder : transformer, optional
        Untrained; domains are generated in its space.
    method : Method
    n_generated : int, optional
        Domains between two neighbours; None: 0 to 4, whichever fits best the labels that plans
        carry to the target; on huge tables by how far the check finds that classes move.
    keep : Keep
    seed : int
    limits : Limits
    """

    label: str
    order: Column | RowPosition | FilePosition
    windows: Windows = field(default_factory=ByQuantile)
    model: Any = None
    encoder: Any = None
    method: Method = Method.GOAT
    n_generated: int | None = None
    keep: Keep = Keep.BETTER
    seed: int = 0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.n_generated is not None and not 0 <= self.n_generated <= 50:
            raise InputError(f"n_generated must lie between 0 and 50, got {self.n_generated!r}")
        if isinstance(self.order, Column) and self.order.name == self.label:
            raise InputError(f"label and order must be two columns, got {self.label!r} for both")

    @property
    def gate(self) -> Gate:
        """How to decide between the source model and the adapted one."""
        return Gate(keep=self.keep, seed=self.seed, max_samples=self.limits.transport)

    def describe(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "label": self.label,
            "order": str(self.order),
            "windows": str(self.windows),
            "model": "LogisticRegression(max_iter=1000)" if self.model is None else " ".join(str(self.model).split()),
            "encoder": "none" if self.encoder is None else " ".join(str(self.encoder).split()),
            "method": self.method.value,
            "n_generated": "auto" if self.n_generated is None else self.n_generated,
            "keep": self.keep.value,
            "training_rows_per_window": self.limits.training,
            "transport_rows_per_window": self.limits.transport,
        }
