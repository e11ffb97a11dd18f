"""Facts beside the log's own: what evidence files state, and whether a profile's prerequisites are met."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k3triage.checks.deployment import Deployment
from k3triage.diagnose.facts import Facts, gather
from k3triage.diagnose.parsed import ParsedInput
from k3triage.model.evidence import EvidenceFact
from k3triage.model.lazy import lazy
from k3triage.model.shapes import replace

if TYPE_CHECKING:
    from k3triage.model.checks import Check, CheckReport
    from k3triage.model.report import Report

# torch prints the driver's CUDA level as major * 1000 + minor * 10: 12080 is CUDA 12.8, not a driver's number.
_LEVEL = lazy(r"driver on your system is too old \(found version (\d{4,5})\)")
_DEVELOPMENT = lazy(r"(?:version|LLM engine \()\s*v?(\d+\.\d+\.dev\d+[\w.+]*)")
_IMAGE = lazy(
    r"(?<![\w./-])((?:[\w.-]{1,80}/){0,4}vllm-openai(?:[-_]rocm)?(?::[\w.-]{1,128})(?:@sha256:[0-9a-f]{64})?)"
)
_NET_IB = lazy(r"NET/IB : Using \[0\]\w+:\d+")
_REASONS = 3
DEFAULT = "kimi-k3"
GENERIC = "generic"
_ENGINE = ("launch", "config.model", "vllm")


def add_evidence(facts: Facts, inputs: Sequence[ParsedInput]) -> None:
    """Put what the evidence inputs state, and what the log states in passing, into `facts.stated`."""
    found = [fact for parsed in inputs for fact in parsed.evidence]
    if found:
        from k3triage.evidence.combine import combine

        facts.stated.update(combine(found))
    for fact in _said(inputs):
        facts.stated.setdefault(fact.name, fact)
    # Of several hosts the one that lags behind decides, which a log's last line does not tell.
    if "driver" in facts.stated:
        facts.known.pop("driver", None)
    if "launch" in facts.known or facts.stated:
        everything = _all(inputs, facts)
        origin = everything.get("launch") or everything.get("gpu_count") or next(iter(everything.values()))
        for name, value in Deployment(everything).derived().items():
            facts.stated.setdefault(name, replace(origin, name=name, value=value))


def _said(inputs: Sequence[ParsedInput]) -> Iterator[EvidenceFact]:
    for parsed in inputs:
        for line in parsed.lines:
            message = line.header.message
            at = (parsed.name, line.record.line, "log")
            if "found version" in message and (level := _LEVEL.search(message)) is not None:
                number = int(level.group(1))
                yield EvidenceFact("cuda_ceiling", f"{number // 1000}.{number % 1000 // 10}", *at)
            if ".dev" in message and (version := _DEVELOPMENT.search(message)) is not None:
                yield EvidenceFact("vllm", version.group(1), *at)
            if "vllm-openai" in message and (image := _IMAGE.search(message)) is not None:
                yield EvidenceFact("image", image.group(1), *at)
            if "NET/IB" in message and _NET_IB.search(message) is not None:
                yield EvidenceFact("rdma", True, *at)


def gpu_names(facts: Facts) -> list[str]:
    """Names of the GPUs that evidence lists, one each."""
    return [gpu.name for gpu in facts.value("gpus") or () if gpu.name]


def named_profile(facts: Facts) -> str | None:
    """The shipped profile for the model that log or evidence name, None where no profile is for it."""
    names = [facts.value(name) for name in ("model", "config.model", "flags.model", "flags.served_model_name", "image")]
    names = [name for name in names if name is not None]
    if not names:
        return None
    from k3triage.profiles import choose_profile

    return choose_profile(names)


def add_checks(report: "Report", inputs: Sequence[ParsedInput], facts: Facts, profile: str) -> None:
    """Put the checks of a profile into a report; those not met become reasons beside the verdict."""
    name, report.checks = prerequisites(inputs, facts, profile)
    report.profile = name
    if report.verdict is not None:
        unmet = [check for check in report.checks if check.state == "violated"]
        report.verdict.why += [f"Prerequisite not met: {c.requirement} (found: {c.fact})." for c in unmet[:_REASONS]]


def prerequisites(inputs: Sequence[ParsedInput], facts: Facts, profile: str) -> "tuple[str, list[Check]]":
    """Name and checks of a profile against all facts. Raises UsageError for a profile that does not exist."""
    from k3triage.checks.run import run_checks
    from k3triage.profiles import load_profile

    log = any(name in facts.known for name in _ENGINE) or any(not parsed.evidence and parsed.lines for parsed in inputs)
    loaded = load_profile(profile)
    return loaded.name, run_checks(loaded, _all(inputs, facts), log=log)


def check_inputs(inputs: Sequence[ParsedInput], profile: str | None) -> "CheckReport":
    """The checks alone, without a diagnosis.

    profile: None for the one of the model that is named, generic for another model, kimi-k3 where none is named.
    """
    from k3triage.model.checks import CheckReport
    from k3triage.profiles import load_profile

    facts = gather(inputs)
    add_evidence(facts, inputs)
    if profile is None:
        profile = named_profile(facts) or (GENERIC if facts.value("model") is not None else DEFAULT)
    name, checks = prerequisites(inputs, facts, profile)
    unread = {parsed.name: parsed.error for parsed in inputs if parsed.error}
    return CheckReport(profile=name, title=load_profile(profile).title, checks=checks, unread=unread)


def _all(inputs: Sequence[ParsedInput], facts: Facts) -> Mapping[str, EvidenceFact]:
    """Facts of log and evidence by name, the log's own first: it tells what really ran."""
    everything: dict[str, EvidenceFact] = dict(facts.stated)
    for name, fact in facts.known.items():
        value: Any = fact.value
        everything[name] = EvidenceFact(name, value, inputs[fact.input].name, fact.line.record.line, "log")
    return everything
