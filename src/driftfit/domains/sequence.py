"""`DomainSequence`: domains in order, the target last; labels wherever they are, the oldest ones are the source's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_weights
from driftfit.domains.domain import Domain, LabelledDomain
from driftfit.domains.order import order_values, rank, value_name
from driftfit.domains.samples import (
    as_labels,
    group_codes,
    is_missing,
    plain_labels,
    stack_rows,
    take_rows,
    with_rows,
    without_marks,
)
from driftfit.errors import InputError


class DomainSequence(Sequence[Domain]):
    """Two or more domains in order, the last of which is the target.

    Any domain may have labels, for all of its rows or for some. `masked` leaves those of the first domain, the source,
    as in the paper; `labelled` has them all.

    Parameters
    ----------
    domains : iterable of Domain
        At least two, all with the same number of features; one of them at least with labels.

    Examples
    --------
    >>> path = DomainSequence.from_samples([[0.0], [1.0], [2.0], [3.0]], [0, 1, None, None], [1999, 1999, 2001, 2001])
    >>> [domain.name for domain in path], path.source.labels.tolist(), path.target.labels
    (['1999', '2001'], [0, 1], None)
    """

    def __init__(self, domains: Iterable[Domain]) -> None:
        found = tuple(domains)
        _check_sequence(found)
        counts = [int(domain.has_label.sum()) for domain in found]
        # Without any label the first domain says what is missing.
        whole = counts[0] == len(found[0]) or not any(counts)
        self._domains: tuple[Domain, ...] = (LabelledDomain.of(found[0]), *found[1:]) if whole else found
        self._counts = np.array(counts)
        # Made when they are first asked for and kept, so that whoever asks twice gets the same domains.
        self._source: LabelledDomain | None = None
        self._masked: DomainSequence | None = None
        self._labelled: LabelledDomain | None = None
        self._path: DomainSequence | None = None

    @classmethod
    def from_arrays(cls, arrays: Iterable[Any], labels: Any, names: Iterable[str] | None = None) -> DomainSequence:
        """One array per domain, in order, and the labels of the first.

        >>> DomainSequence.from_arrays([[[0.0], [1.0]], [[2.0], [3.0]]], labels=[0, 1])
        DomainSequence([Domain('0', 2 x 1, labelled), Domain('1', 2 x 1, unlabelled)])
        """
        samples = list(arrays)
        known = [str(i) for i in range(len(samples))] if names is None else list(names)
        if len(known) != len(samples):
            raise InputError(f"{len(samples)} arrays need as many names, got {len(known)}")
        return cls(Domain(array, labels=labels if i == 0 else None, name=known[i]) for i, array in enumerate(samples))

    @classmethod
    def from_samples(
        cls,
        X: Any,
        y: Any,
        sample_domain: Any,
        sample_weight: Any = None,
        *,
        allow_missing: bool = False,
        groups: Any = None,
    ) -> DomainSequence:
        """Split one table by ``sample_domain``, in ascending order of its values.

        The lowest value marks the source, the highest the target. Labels may be missing anywhere: None, NaN, or -1
        where the labels are words or the first domain does without it. ``groups`` says for each row what it belongs to,
        such as its customer (`Domain`).
        """
        X = with_rows(X)
        try:
            X = X if hasattr(X, "shape") else np.asarray(X)
        except ValueError as error:
            raise InputError(f"X must form a table, {error}") from None
        # Not every sparse format can hand out rows.
        X = sp.csr_array(X) if sp.issparse(X) else X
        n = X.shape[0]
        order = sorted_domains(sample_domain, n)
        labels = without_marks(_check_length(y, n, "y"), order[0][1])
        weights = None if sample_weight is None else _check_length(sample_weight, n, "sample_weight")
        codes = None if groups is None else group_codes(groups, n, "groups")
        domains: list[Domain] = []
        for name, rows in order:
            domains.append(
                Domain(
                    take_rows(X, rows),
                    labels=labels[rows],
                    weights=None if weights is None else weights[rows],
                    name=name,
                    allow_missing=allow_missing,
                    groups=None if codes is None else codes[rows],
                )
            )
        return cls(domains)

    @classmethod
    def from_table(cls, table: Any, *, label: str, order: str, windows: Any = None, **options: Any) -> DomainSequence:
        """Cut a data frame into domains along its order column; see `driftfit.domains.from_table`."""
        from driftfit.domains.windows import from_table

        return from_table(table, label=label, order=order, windows=windows, **options)

    def as_samples(self) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
        """The domains as the three arrays ``X, y, sample_domain`` that scikit-learn's conventions ask for.

        Missing labels become None; ``sample_domain`` counts the domains from 0.

        >>> path = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[2.0]])])
        >>> [part.tolist() for part in path.as_samples()]
        [[[0.0], [1.0], [2.0]], [0, 1, None], [0, 0, 1]]
        """
        X = stack_rows([d.samples if sp.issparse(d.samples) else np.asarray(d.samples) for d in self._domains])
        labels = [np.full(len(d), None, dtype=object) if d.labels is None else d.labels for d in self._domains]
        labels = [_with_none(own) for own in labels]
        if len({own.dtype.kind for own in labels}) > 1:
            labels = [own.astype(object) for own in labels]  # side by side, numbers and words would all become words
        return X, np.concatenate(labels), np.repeat(np.arange(len(self)), [len(d) for d in self._domains])

    @property
    def source(self) -> LabelledDomain:
        """The first domain, or those of its rows that have a label."""
        if self._source is None:
            first = self._domains[0]
            self._source = LabelledDomain.of(first) if self._counts[0] in (0, len(first)) else _labelled_part(first)
        return self._source

    @property
    def target(self) -> Domain:
        """The last domain."""
        return self._domains[-1]

    @property
    def n_given(self) -> int:
        """Number of domains strictly between source and target."""
        return len(self._domains) - 2

    def masked(self) -> DomainSequence:
        """The same domains with every label but the source's removed: the paper's setting."""
        if self._masked is None:
            needed = self.source is not self._domains[0] or self._counts[1:].any()
            hidden = [domain.without_labels() for domain in self._domains[1:]]
            self._masked = DomainSequence([self.source, *hidden]) if needed else self
        return self._masked

    @property
    def labelled(self) -> LabelledDomain:
        """All rows with a label, of the oldest domain first; `labelled_windows` says where each comes from.

        >>> path = DomainSequence([Domain([[0.0], [1.0]], ["a", "b"]), Domain([[2.0], [3.0]], [None, "b"])])
        >>> path.labelled.samples.ravel().tolist(), path.labelled.labels.tolist(), path.labelled_windows.tolist()
        ([0.0, 1.0, 3.0], ['a', 'b', 'b'], [0, 0, 1])
        """
        if self._labelled is None:
            parts = [_labelled_part(domain) for domain, count in zip(self, self._counts, strict=True) if count]
            self._labelled = parts[0] if len(parts) == 1 else _pooled(parts)
        return self._labelled

    @property
    def labelled_windows(self) -> NDArray[np.int64]:
        """The number of the domain that each row of `labelled` comes from."""
        return np.repeat(np.arange(len(self)), self._counts)

    @property
    def last_labelled(self) -> int:
        """Number of the newest domain with a label."""
        return int(np.flatnonzero(self._counts)[-1])

    @property
    def late(self) -> int:
        """How many domains before the target have no label: so late do labels arrive.

        >>> DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[2.0]]), Domain([[3.0]])]).late
        1
        """
        return max(len(self) - 2 - self.last_labelled, 0)

    def as_known_at(self, window: int, late: int = 0) -> DomainSequence:
        """What was known when a window was the newest: it has no labels, nor have the ``late`` ones before it.

        >>> domains = [Domain([[float(i)], [i + 1.0]], [0, 1], name=str(i)) for i in range(4)]
        >>> DomainSequence(domains).as_known_at(2, late=1)
        DomainSequence([Domain('0', 2 x 1, labelled), Domain('1', 2 x 1, unlabelled), Domain('2', 2 x 1, unlabelled)])
        """
        if not 1 <= window < len(self):
            raise InputError(f"window must be a number from 1 to {len(self) - 1}, got {window!r}")
        if late < 0:
            raise InputError(f"late must be a number of windows, 0 or more, got {late!r}")
        domains = enumerate(self._domains[: window + 1])
        return DomainSequence(own if number < window - late else own.without_labels() for number, own in domains)

    def from_last_labelled(self) -> DomainSequence:
        """All labelled rows as the source, then the rows without a label from the last labelled domain on.

        This is where methods that follow a path start. Where every row there has a label, the last domain stands for
        the time after it.

        >>> domains = [Domain([[0.0], [1.0]], [0, 1]), Domain([[2.0], [3.0]], [None, 1]), Domain([[4.0]])]
        >>> [domain.samples.ravel().tolist() for domain in DomainSequence(domains).from_last_labelled()]
        [[0.0, 1.0, 3.0], [2.0], [4.0]]
        """
        if self._path is None:
            rest = [
                domain.take(np.flatnonzero(~domain.has_label))
                for domain in self._domains[self.last_labelled :]
                if not domain.has_label.all()
            ] or [self.target]
            self._path = DomainSequence([self.labelled, *(domain.without_labels() for domain in rest)])
        return self._path

    def target_apart(self) -> DomainSequence:
        """The same, with the rows of the last domain that have a label before those that have none.

        Labels may stop inside a domain: its labelled rows are history, the others are the target.

        >>> domains = [Domain([[0.0], [1.0]], [0, 1]), Domain([[2.0], [3.0]], [None, 1])]
        >>> [domain.samples.ravel().tolist() for domain in DomainSequence(domains).target_apart()]
        [[0.0, 1.0], [3.0], [2.0]]
        """
        known = self.target.has_label
        if known.all() or not known.any():
            return self
        parts = [self.target.take(np.flatnonzero(rows)) for rows in (known, ~known)]
        return DomainSequence([*self._domains[:-1], parts[0], parts[1].without_labels()])

    def each(self, change: Callable[[Domain], Domain]) -> DomainSequence:
        """The sequence of changed domains, such as encoded or sampled ones."""
        return DomainSequence([change(domain) for domain in self._domains])

    def ends(self) -> DomainSequence:
        """Source and target alone."""
        return self if self.n_given == 0 else DomainSequence([self.source, self.target])

    @overload
    def __getitem__(self, index: int) -> Domain: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Domain, ...]: ...

    def __getitem__(self, index: int | slice) -> Domain | tuple[Domain, ...]:
        return self._domains[index]

    def __len__(self) -> int:
        return len(self._domains)

    def __iter__(self) -> Iterator[Domain]:
        return iter(self._domains)

    def __repr__(self) -> str:
        return f"DomainSequence({list(self._domains)!r})"


def _with_none(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in which the missing ones are None."""
    missing = is_missing(labels)
    if not missing.any():
        return labels
    own = labels.astype(object)
    own[missing] = None
    return own


def _labelled_part(domain: Domain) -> LabelledDomain:
    """The rows of a domain that have a label."""
    rows = np.flatnonzero(domain.has_label)
    return LabelledDomain.of(domain if len(rows) == len(domain) else domain.take(rows))


def _pooled(parts: list[LabelledDomain]) -> LabelledDomain:
    """Several labelled domains as one, in which every row counts as much as in its own."""
    labels = [part.labels for part in parts]
    if len({own.dtype.kind for own in labels}) > 1:
        labels = [own.astype(object) for own in labels]  # side by side, numbers and words would all become words
    weights = groups = None
    if any(part.uneven_weights is not None for part in parts):
        weights = np.concatenate([check_weights(part.weights, len(part)) * len(part) for part in parts])
    if all(part.groups is not None for part in parts):
        groups = np.concatenate([part.groups for part in parts])
    return LabelledDomain(
        stack_rows([part.samples for part in parts]),
        plain_labels(np.concatenate(labels)),
        weights,
        f"{parts[0].name} to {parts[-1].name}",
        any(part.allow_missing for part in parts),
        groups,
    )


def sorted_domains(sample_domain: Any, n: int) -> list[tuple[str, NDArray[np.int64]]]:
    """Names of the domains in ascending order, each with the rows that belong to it."""
    order = rank(order_values(sample_domain, n, "sample_domain"), "sample_domain")
    used = order.used
    if len(used) < 2:
        raise InputError(
            f"sample_domain has the single value {value_name(order.values[used[0]])!r}; adaptation needs a source and "
            "a target. To fit without adaptation leave sample_domain out"
        )
    sizes = np.bincount(order.ranks)[used]
    parts = np.split(np.argsort(order.ranks, kind="stable"), np.cumsum(sizes)[:-1])
    return [(value_name(order.values[place]), rows) for place, rows in zip(used, parts, strict=True)]


def _check_length(values: Any, n: int, name: str) -> NDArray[Any]:
    if values is None:
        raise InputError(f"{name} is None; give one entry per sample (labels are needed for the source only)")
    array = as_labels(values)
    if array.shape == (n, 1):
        array = array.ravel()
    if array.shape != (n,):
        raise InputError(f"{name} must have one entry for each of the {n} samples, got shape {array.shape}")
    return array


def _check_sequence(domains: tuple[Domain, ...]) -> None:
    for domain in domains:
        if not isinstance(domain, Domain):
            raise InputError(f"a DomainSequence holds Domain values, got {type(domain).__name__}")
    if len(domains) < 2:
        raise InputError(f"a DomainSequence needs at least a source and a target, got {len(domains)} domain(s)")
    first = domains[0]
    for domain in domains[1:]:
        if domain.samples.shape[1:] != first.samples.shape[1:]:
            raise InputError(
                f"domain {domain.name!r} has samples of shape {domain.samples.shape[1:]} but {first.name!r} has "
                f"{first.samples.shape[1:]}; all domains must have the same features"
            )
