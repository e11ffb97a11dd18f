"""What the single checks share: facts, profile, and how an answer is made."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k3triage.checks.deployment import Deployment
from k3triage.model.checks import Check, Group, Origin, State
from k3triage.model.evidence import EvidenceFact

if TYPE_CHECKING:
    from k3triage.profiles.schema import Profile

_LONGEST = 300


class Context(Deployment):
    """Facts by name, and the profile they are held against.

    log: whether a log is among the inputs, so that launch arguments not seen may only be out of sight.
    """

    def __init__(self, profile: "Profile", facts: Mapping[str, EvidenceFact], *, log: bool) -> None:
        super().__init__(facts)
        self.profile = profile
        self.log = log

    def answer(
        self,
        id_: str,
        group: Group,
        requirement: str,
        state: State,
        *,
        of: str | Sequence[str] = (),
        fact: str | None = None,
        source: Any = None,
        command: str | None = None,
        fix: str | None = None,
        note: str | None = None,
    ) -> Check:
        """A check's answer. of: names of the facts it rests on (the first known gives the origin)."""
        names = [of] if isinstance(of, str) else list(of)
        known = next((self.facts[name] for name in names if name in self.facts), None)
        if fact is None and known is not None:
            fact = f"{known.name} {known.value}"
        url, day = source if isinstance(source, tuple) else (source.source, source.as_of) if source else (None, None)
        return Check(
            id=id_,
            group=group,
            requirement=requirement,
            state=state,
            fact=fact[:_LONGEST] if fact else None,
            origin=Origin(source=known.source, line=max(known.line, 1)) if known is not None else None,
            source=url,
            as_of=day,
            command=command if state is State.UNKNOWN else None,
            fix=fix if state is State.VIOLATED else None,
            note=note,
        )
