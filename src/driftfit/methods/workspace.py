"""`Workspace`: what several adaptations of one model share, made once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from driftfit.domains import Domain, DomainSequence
from driftfit.methods.plans import Coupled, Path, Transport, generate_path, given_path
from driftfit.models import Learner


class Workspace:
    """Encoded domains and plans by what they were made of.

    Every method makes its own unless it is handed one: then methods that run on the same
    learner and the same domains do their common work once.

    ``max_bytes``: the oldest encoded domains are dropped when all take more than this.

    >>> sequence = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[5.0], [4.0]])])
    >>> work = Workspace()
    >>> work.coupled(sequence, Transport()) is work.coupled(sequence, Transport())
    True
    """

    def __init__(self, max_bytes: int | None = None) -> None:
        self.max_bytes = max_bytes
        # Keys are identities; what they belong to is kept along, so that no identity is given away twice.
        self._encoded: dict[tuple[int, int], tuple[Learner, Domain, Domain]] = {}
        self._coupled: dict[Hashable, tuple[DomainSequence, Transport, Coupled]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Features that are larger than what they were made of are made anew there: that is faster than to send them.
        encoded = [own for own in self._encoded.values() if _bytes(own[2]) <= _bytes(own[1])]
        gone = {id(own[2]) for own in self._encoded.values()} - {id(own[2]) for own in encoded}
        coupled = [own for own in self._coupled.values() if not any(id(domain) in gone for domain in own[0])]
        # In another process everything has another identity.
        return {"max_bytes": self.max_bytes, "kept": (encoded, coupled)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.max_bytes = state["max_bytes"]
        encoded, coupled = state["kept"]
        self._encoded = {(id(own[0]), id(own[1])): own for own in encoded}
        self._coupled = {_key(own[0], own[1]): own for own in coupled}

    def domains(self, learner: Learner, sequence: DomainSequence, *, feature_space: bool) -> DomainSequence:
        """The domains in the space to couple in, without labels but the source's."""
        return self.encoded(learner, sequence) if feature_space else sequence.masked()

    def encoded(self, learner: Learner, sequence: DomainSequence) -> DomainSequence:
        """The domains in the space of the learner's encoder, without labels but the source's."""
        return sequence.masked().each(lambda domain: self.encoded_domain(learner, domain))

    def encoded_domain(self, learner: Learner, domain: Domain) -> Domain:
        """One domain in the space of the learner's encoder."""
        key = (id(learner), id(domain))
        if key in self._encoded:
            # Put behind the others: the one used longest ago is dropped first.
            self._encoded[key] = self._encoded.pop(key)
        else:
            features = domain.with_samples(learner.encode(domain.samples))
            self._make_room(features)
            self._encoded[key] = (learner, domain, features)
        return self._encoded[key][2]

    def coupled(self, sequence: DomainSequence, transport: Transport) -> Coupled:
        """The plans between neighbours of a sequence."""
        key = _key(sequence, transport)
        if key not in self._coupled:
            self._coupled[key] = (sequence, transport, transport.couple(sequence))
        return self._coupled[key][2]

    def path(
        self, sequence: DomainSequence, transport: Transport, n_generated: int, *, measure_shift: bool = True
    ) -> Path:
        """Given and generated domains in order.

        With nothing to generate no plan is needed; one that somebody has made still measures the shifts.
        """
        if n_generated or _key(sequence, transport) in self._coupled:
            return generate_path(self.coupled(sequence, transport), n_generated)
        return given_path(sequence, measure_shift=measure_shift)

    def _make_room(self, domain: Domain) -> None:
        if self.max_bytes is None:
            return
        while self._encoded and _bytes(domain) + sum(_bytes(kept) for *_, kept in self._encoded.values()) > (
            self.max_bytes
        ):
            dropped = self._encoded.pop(next(iter(self._encoded)))[2]
            for key in [key for key, (known, *_) in self._coupled.items() if any(d is dropped for d in known)]:
                del self._coupled[key]


def _key(sequence: DomainSequence, transport: Transport) -> Hashable:
    domains = tuple(id(domain) for domain in sequence)
    try:
        hash(transport)
    except TypeError:
        return domains, id(transport)  # a cost or solver that holds an array
    return domains, transport


def _bytes(domain: Domain) -> int:
    samples: Any = domain.samples
    return int(getattr(samples, "nbytes", 0) or getattr(getattr(samples, "data", None), "nbytes", 0) or 0)
