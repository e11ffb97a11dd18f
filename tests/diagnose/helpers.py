"""Logs of vLLM as its versions print them, with values of our own, and the judgement on them."""

from k3triage.api import triage
from k3triage.diagnose.facts import Facts, gather
from k3triage.diagnose.prefix import PrefixCache, assess
from k3triage.diagnose.timeline import build_timeline
from k3triage.ingest import Source
from k3triage.model.report import Report
from k3triage.pipeline import parse, read
from k3triage.rules import load_pack
from k3triage.rules.match import match


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3])


def launch(release: str, flags: str = "", model: str = "/srv/llama") -> list[str]:
    """Version and arguments."""
    extra = f", {flags}" if flags else ""
    if version(release) < (0, 9):
        word = "True" if "True" in flags else "False" if "False" in flags else "None"
        return [
            f"INFO 05-06 07:00:01 [api_server.py:981] vLLM API server version {release}",
            f"INFO 05-06 07:00:01 [api_server.py:982] args: Namespace(model='{model}', port=8000, "
            f"enable_prefix_caching={word}, seed=None)",
        ]
    where = "utils.py:233" if version(release) < (0, 20) else "api_utils.py:281"
    return [
        f"(APIServer pid=7) INFO 05-06 07:00:01 [{where.replace('233', '300')}] vLLM API server version {release}",
        f"(APIServer pid=7) INFO 05-06 07:00:01 [{where}] non-default args: {{'model': '{model}', 'port': 8000{extra}}}",
    ]


def engine(release: str, on: bool | None, model: str = "/srv/llama", kind: str = "V1", more: str = "") -> str:
    """The engine's configuration line."""
    chunked = "chunked_prefill_enabled" if version(release) < (0, 15) else "enable_chunked_prefill"
    after = f"enable_prefix_caching={on}, {chunked}=True{more}"
    if kind == "V0" and version(release) < (0, 8):
        return (
            f"INFO 05-06 07:00:09 llm_engine.py:237] Initializing an LLM engine (v{release}) with config: "
            f"model='{model}', max_seq_len=16384, {after}"
        )
    name = "EngineCore_DP0" if version(release) < (0, 14) else "EngineCore"
    return (
        f"({name} pid=90) INFO 05-06 07:00:09 [core.py:93] Initializing a {kind} LLM engine (v{release}) with config: "
        f"model='{model}', max_seq_len=16384, seed=0, {after}"
    )


HYBRID = (
    "(EngineCore pid=90) INFO 05-06 07:00:08 [config.py:281] Setting attention block size to 1056 tokens to ensure "
    "that attention page size is >= mamba page size."
)
READY = [
    "(APIServer pid=7) INFO:     Started server process [7]",
    "(APIServer pid=7) INFO:     Application startup complete.",
]


def stats(
    release: str,
    rates: list[float | None],
    prompt: float = 1800.0,
    *,
    start: int = 0,
    name: str = "000",
    usage: float = 7.5,
    running: int = 4,
    middle: str = "",
    tail: str = "",
) -> list[str]:
    """Statistics lines 10 seconds apart; a rate of None is left out as versions from 0.30 on do without queries."""
    lines = []
    for number, rate in enumerate(rates, start):
        clock = f"07:{2 + number // 6:02}:{number % 6}0"
        if version(release) < (0, 8):
            head = f"INFO 05-06 {clock} metrics.py:455] "
            lines.append(
                f"{head}Avg prompt throughput: {prompt} tokens/s, Avg generation throughput: 55.1 tokens/s, Running: "
                f"{running} reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: {usage}%, CPU KV cache usage: 0.0%."
            )
            lines.append(f"INFO 05-06 {clock} metrics.py:471] Prefix cache hit rate: GPU: {rate:.2f}%, CPU: 0.00%")
            continue
        hit = "" if rate is None else f", Prefix cache hit rate: {rate}%"
        lines.append(
            f"(APIServer pid=7) INFO 05-06 {clock} [loggers.py:257] Engine {name}: Avg prompt throughput: {prompt} "
            f"tokens/s, Avg generation throughput: 55.1 tokens/s, Running: {running} reqs, Waiting: 0 reqs{middle}, "
            f"GPU KV cache usage: {usage}%{hit}{tail}"
        )
    return lines


def judge(*inputs: list[str], names: tuple[str, ...] = ()) -> tuple[PrefixCache, Facts]:
    """The judgement alone, over one or more inputs."""
    pack = load_pack()
    parsed = []
    for number, lines in enumerate(inputs):
        source = Source.of_lines([line + "\n" for line in lines], names[number] if names else f"log-{number}")
        parsed.append(parse(read(source, pack)))
    timelines = [build_timeline(item, match(item.lines, pack), set()) for item in parsed]
    facts = gather(parsed)
    return assess(parsed, timelines, facts), facts


def report(*inputs: list[str]) -> Report:
    """The whole program on one or more inputs."""
    return triage(*[[line + "\n" for line in lines] for lines in inputs])


def found(lines: list[str]) -> tuple[str | None, int | None]:
    """Cause and line of the verdict."""
    verdict = report(lines).verdict
    return (verdict.cause, verdict.first_anomaly.line) if verdict else (None, None)
