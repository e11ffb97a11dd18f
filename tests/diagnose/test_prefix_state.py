"""Input, routing and state: why a cache that is on does not hit, and when nothing can be said."""

import pytest

from tests.diagnose.helpers import HYBRID, READY, engine, found, judge, launch, report, stats

HEAD = [*launch("0.29.0"), engine("0.29.0", True), *READY]
RESET = "(EngineCore pid=90) INFO 05-06 07:02:1{} [block_pool.py:377] Successfully reset prefix cache"


def asked(count: int) -> list[str]:
    return [
        f'(APIServer pid=7) INFO:     10.3.0.{n}:50412 - "POST /v1/completions HTTP/1.1" 200 OK' for n in range(count)
    ]


def test_a_few_short_prompts_say_nothing() -> None:
    assert found([*HEAD, *asked(3), *stats("0.29.0", [0.0, 0.0], 90.0)]) == (None, None)


def test_one_long_prompt_says_nothing() -> None:
    assert found([*HEAD, *asked(1), *stats("0.29.0", [0.0], 9000.0)]) == (None, None)


def test_numbers_stand_in_the_reasons() -> None:
    verdict = report([*HEAD, *stats("0.29.0", [0.0, 0.3, 0.2], 2000.0)]).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.never_hits" and verdict.confidence == "likely"
    text = " ".join(verdict.why)
    assert "Setting: on" in text and "0.3 %" in text and "60,000 prompt tokens" in text


HYBRID_HEAD = [*launch("0.29.0"), HYBRID, engine("0.29.0", True), *READY]
COARSE = (
    "(EngineCore pid=90) WARNING 05-06 07:00:12 [kv_cache_coordinator.py:90] Disabling fine-grained prefix-cache hits "
    "because these KV cache managers require block-aligned lookups: X."
)


def test_prompts_shorter_than_the_unit() -> None:
    verdict = report([*HYBRID_HEAD, *stats("0.29.0", [0.0] * 10, 100.0)]).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.prompt_shorter_than_unit"
    assert any("1,056" in why and "1,000 tokens" in why for why in verdict.why)
    assert found([*HYBRID_HEAD, *stats("0.29.0", [0.0] * 10, 200.0)])[0] == "prefix_cache.never_hits"


def test_no_prompt_can_be_as_long_as_the_unit() -> None:
    head = [line.replace("max_seq_len=16384", "max_seq_len=1024") for line in HYBRID_HEAD]
    assert found([*head, *stats("0.29.0", [0.0] * 3)])[0] == "prefix_cache.prompt_shorter_than_unit"


def test_metrics_tell_the_length_of_prompts() -> None:
    lines = [*HYBRID_HEAD, *stats("0.29.0", [0.0] * 3)]
    short = metrics({"request_prompt_tokens_sum": 52_000.0, "request_prompt_tokens_count": 100.0})
    long = metrics({"request_prompt_tokens_sum": 520_000.0, "request_prompt_tokens_count": 100.0})
    assert report(lines, short).verdict.cause == "prefix_cache.prompt_shorter_than_unit"  # type: ignore[union-attr]
    assert report(lines, long).verdict.cause == "prefix_cache.never_hits"  # type: ignore[union-attr]


def test_a_smaller_match_unit_makes_the_same_prompts_long_enough() -> None:
    head = [*launch("0.29.0", "'prefix_match_unit': 128"), HYBRID, engine("0.29.0", True), *READY]
    serving = stats("0.29.0", [0.0] * 10, 100.0)
    assert found([*head, *serving])[0] == "prefix_cache.never_hits"
    assert found([*head, COARSE, *serving])[0] == "prefix_cache.prompt_shorter_than_unit"


@pytest.mark.parametrize(
    ("usage", "middle", "cause"),
    [
        (98.7, ", Preemptions: 4", "evicted_before_reuse"),
        (98.7, "", "never_hits"),
        (40.0, ", Preemptions: 4", "never_hits"),
    ],
)
def test_eviction_takes_a_full_cache_and_preemptions(usage: float, middle: str, cause: str) -> None:
    lines = [*HEAD, *stats("0.29.0", [0.0] * 4, usage=usage, middle=middle)]
    assert found(lines) == (f"prefix_cache.{cause}", 6)


def test_hits_that_stop_while_the_cache_is_full() -> None:
    lines = [*HEAD, *stats("0.29.0", [44.0, 46.0]), *stats("0.29.0", [0.4, 0.0, 0.0], start=2, usage=99.0)]
    assert found(lines) == ("prefix_cache.evicted_before_reuse", 8)


def test_hits_that_stop_without_a_reason_are_another_load() -> None:
    assert found([*HEAD, *stats("0.29.0", [44.0, 46.0]), *stats("0.29.0", [0.4, 0.0, 0.0], start=2)]) == (None, None)


def test_resets_explain_misses_only_where_there_are_misses() -> None:
    resets = [RESET.format(n) for n in range(3)]
    assert found([*HEAD, *resets, *stats("0.29.0", [0.0] * 3)])[0] == "prefix_cache.reset_between_requests"
    assert found([*HEAD, *resets, *stats("0.29.0", [22.0] * 3)]) == (None, None)
    assert found([*HEAD[:3], resets[0], *HEAD[3:], *stats("0.29.0", [0.0] * 3)])[0] == "prefix_cache.never_hits"


def test_every_engine_has_a_rate_of_its_own() -> None:
    good, bad = stats("0.29.0", [51.0] * 3), stats("0.29.0", [0.0] * 3, name="001")
    assert found([*HEAD, *good, *bad]) == ("prefix_cache.replica_never_hits", 9)
    assert found([*HEAD, *good, *stats("0.29.0", [48.0] * 3, name="001")]) == (None, None)
    assert found([*HEAD, *good, *stats("0.29.0", [0.0] * 3, 100.0, name="001")]) == (None, None)


def test_replicas_in_several_files() -> None:
    one, two = [*HEAD, *stats("0.29.0", [51.0] * 3)], [*HEAD, *stats("0.29.0", [0.0] * 3)]
    verdict = report(one, two).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.replica_never_hits"
    assert verdict.confidence == "possible" and any(why.startswith("Routing: 2 engines") for why in verdict.why)


def test_several_engines_summed_up_in_one_line() -> None:
    lines = [line.replace("Engine 000", "4 Engines Aggregated") for line in stats("0.33.0", [0.0] * 3)]
    assert found([*HEAD, *lines])[0] == "prefix_cache.never_hits"


def test_without_the_setting_zero_is_not_pinned_on_the_prompts() -> None:
    verdict = report([READY[1], *stats("0.27.0", [0.0] * 3)]).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.no_hits_setting_unknown"
    assert verdict.confidence == "possible" and verdict.missing


OFF = "'enable_prefix_caching': False"


@pytest.mark.parametrize(
    ("transfer", "name", "cause"),
    [
        ("kv_connector='NixlConnector', kv_role='kv_consumer'", "a.log", None),
        ("kv_connector='NixlConnector', kv_role='kv_both'", "decode-3.log", None),
        ("kv_connector='NixlConnector', kv_role='kv_both'", "a.log", None),
        ("kv_connector='NixlConnector', kv_role='kv_both'", "prefill-0.log", "off_by_flag"),
        ("kv_connector='MooncakeConnector', kv_role='kv_producer'", "a.log", "off_by_flag"),
        ("kv_connector='LMCacheConnectorV1', kv_role='kv_both'", "decode.log", "off_by_flag"),
    ],
)
def test_decode_workers_are_off_on_purpose(transfer: str, name: str, cause: str | None) -> None:
    flags = f"{OFF}, 'kv_transfer_config': KVTransferConfig({transfer})"
    lines = [*launch("0.29.0", flags), engine("0.29.0", False), *READY]
    cache, _ = judge(lines, names=(name,))
    assert cache.setting is not None and cache.setting.value == (cause or "off_on_purpose")


def test_a_decode_worker_need_not_hit_its_own_cache() -> None:
    flags = "'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_consumer')"
    lines = [*launch("0.29.0", flags), engine("0.29.0", True), *READY, *stats("0.29.0", [0.0] * 4)]
    assert found(lines) == (None, None)


def test_a_store_that_never_hits() -> None:
    flags = "'kv_transfer_config': KVTransferConfig(kv_connector='{}', kv_role='kv_both')"
    tail = ", External prefix cache hit rate: 0.0%"
    serving = stats("0.29.0", [0.0] * 3, usage=99.0, middle=", Preemptions: 9", tail=tail)
    head = [engine("0.29.0", True), *READY]
    store = [*launch("0.29.0", flags.format("LMCacheConnectorV1")), *head]
    assert found([*store, *serving])[0] == "prefix_cache.connector_never_hits"
    assert found([*store, *stats("0.29.0", [40.0] * 3, tail=tail)]) == (None, None)
    only = [*launch("0.29.0", flags.format("MooncakeConnector")), *head]
    assert found([*only, *serving])[0] == "prefix_cache.evicted_before_reuse"


def metrics(values: dict[str, float], engine: str = "0") -> list[str]:
    lines = []
    for name, value in values.items():
        name, _, reason = name.partition("/")
        label = f',finished_reason="{reason}"' if reason else ""
        lines += [f"# HELP vllm:{name} text", f'vllm:{name}{{engine="{engine}",model_name="m"{label}}} {value}']
    return lines


SERVED = {"request_success_total/stop": 40.0, "request_success_total/length": 2.0}


def test_metrics_that_hit() -> None:
    lines = metrics({"prefix_cache_queries_total": 90_000.0, "prefix_cache_hits_total": 61_200.0, **SERVED})
    cache, facts = judge(lines)
    assert cache.state == "hits" and facts.value("prefix_cache.rate") == pytest.approx(68.0)
    assert found(lines) == (None, None)


@pytest.mark.parametrize("prefix", ["prefix_cache", "gpu_prefix_cache"])
def test_metrics_that_never_hit(prefix: str) -> None:
    config = 'vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0"} 1.0'
    lines = [config, *metrics({f"{prefix}_queries_total": 90_000.0, f"{prefix}_hits_total": 12.0, **SERVED})]
    assert found(lines) == ("prefix_cache.never_hits", 5)
    assert (
        found([config, *metrics({f"{prefix}_queries_total": 900.0, f"{prefix}_hits_total": 0.0, **SERVED})])[0] is None
    )


def test_metrics_tell_the_setting() -> None:
    lines = ['vllm:cache_config_info{enable_prefix_caching="False",engine="0"} 1.0', *metrics(SERVED)]
    assert found(lines) == ("prefix_cache.off_by_default", 1)


def test_metrics_of_several_engines() -> None:
    good = metrics({"prefix_cache_queries_total": 50_000.0, "prefix_cache_hits_total": 30_000.0, **SERVED})
    bad = metrics({"prefix_cache_queries_total": 50_000.0, "prefix_cache_hits_total": 0.0}, "1")
    assert found([*good, *bad])[0] == "prefix_cache.replica_never_hits"


def test_metrics_beside_a_log_take_its_setting() -> None:
    values = metrics({"prefix_cache_queries_total": 50_000.0, "prefix_cache_hits_total": 0.0, **SERVED})
    verdict = report(HEAD, values).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.never_hits"
    off = [*launch("0.29.0", OFF), engine("0.29.0", False), *READY]
    verdict = report(off, values).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.off_by_flag"


def test_failures_come_first() -> None:
    fault = "(EngineCore pid=90) ERROR 05-06 07:09:00 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free."
    verdict = report([*HEAD, *stats("0.29.0", [0.0] * 4), fault]).verdict
    assert verdict is not None and verdict.layer == "inference_oom"


def test_a_prompt_in_the_log_is_no_statistic() -> None:
    line = stats("0.29.0", [0.0])[0].partition("] ")[2]
    prompt = f"(APIServer pid=7) INFO 05-06 07:03:00 [logger.py:40] Received request a-1: prompt: '{line}'"
    assert found([*HEAD, *[prompt] * 5]) == (None, None)


def test_hostile_numbers_do_no_harm() -> None:
    bad = [
        "vllm:prefix_cache_hits{" + 'a="' * 900 + "} 1",
        "vllm:prefix_cache_queries_total 1.2.3",
        "vllm:kv_cache_usage_perc{} 1e999",
    ]
    bad += [line.replace("1800.0", "9" * 400) for line in stats("0.29.0", [0.0])]
    assert found([*HEAD, *bad]) == (None, None)


def test_the_flag_may_stand_in_docker_inspect() -> None:
    inspected = """[{"Id": "sha256:0", "State": {"Status": "running", "OOMKilled": false, "ExitCode": 0},
 "Config": {"Image": "vllm/vllm-openai:v0.29.0", "Env": [], "Entrypoint": ["vllm", "serve"],
  "Cmd": ["/srv/llama", "--no-enable-prefix-caching"]}, "HostConfig": {"ShmSize": 67108864}}]""".splitlines()
    log = [engine("0.29.0", False), *READY]
    verdict = report(log, inspected).verdict
    assert verdict is not None and verdict.cause == "prefix_cache.off_by_flag"
    assert found(log)[0] == "prefix_cache.off_by_default"
