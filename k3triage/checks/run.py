"""All checks of a profile, in the order in which to settle them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from k3triage.checks.communication import communication_checks
from k3triage.checks.context import Context
from k3triage.checks.driver import driver_checks
from k3triage.checks.image import image_checks
from k3triage.checks.memory import memory_checks
from k3triage.checks.prefix import prefix_checks
from k3triage.checks.settings import setting_checks
from k3triage.model.checks import Check, Group
from k3triage.model.evidence import EvidenceFact

if TYPE_CHECKING:
    from k3triage.profiles.schema import Profile


def run_checks(profile: "Profile", facts: Mapping[str, EvidenceFact], *, log: bool = False) -> list[Check]:
    """The prerequisites of a profile: driver and CUDA, image and wheels, GPU memory, communication, prefix caching.

    facts: by name, of evidence and log together. log: whether a log is among the inputs.
    """
    context = Context(profile, facts, log=log)
    checks = [*driver_checks(context), *image_checks(context), *memory_checks(context)]
    checks += setting_checks(context, Group.GPU_MEMORY)
    checks += communication_checks(context)
    checks += setting_checks(context, Group.COMMUNICATION)
    checks += prefix_checks(context)
    checks += setting_checks(context, Group.PREFIX_CACHING)
    return checks
