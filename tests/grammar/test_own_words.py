import pytest

from tests.grammar.helpers import header

PROMPT = "torch.OutOfMemoryError: CUDA out of memory"


@pytest.mark.parametrize(
    "text",
    [
        f"INFO 12-01 00:00:07 [logger.py:40] Received request cmpl-1: prompt: '{PROMPT}', params: SamplingParams(n=1)",
        f"INFO 12-01 00:00:07 [logger.py:40] {PROMPT}",
        f"INFO 12-01 00:00:07 [request_logger.py:40] Generated response cmpl-1: output: '{PROMPT}'",
        f"ERROR 12-01 00:00:07 [dump_input.py:69] Dumping input data for V1 LLM engine (v0.1) with config: x='{PROMPT}'",
        f"DEBUG 12-01 00:00:07 [serving.py:4] chat prompt: '{PROMPT}'",
        f"INFO 12-01 00:00:07 [api_server.py:9] non-default args: {{'model': '{PROMPT}'}}",
        f"INFO 12-01 00:00:07 api_server.py:9] args: Namespace(model='{PROMPT}')",
        f"INFO 12-01 00:00:07 [core.py:9] Initializing a V1 LLM engine (v0.13.0) with config: model='{PROMPT}'",
        f"WARNING 12-01 00:00:07 [envs.py:9] Unknown vLLM environment variable detected: {PROMPT}",
        f'INFO:     10.0.0.7:1 - "POST /v1/{PROMPT} HTTP/1.1" 200 OK',
        f"pydantic.ValidationError: input_value={{'prompt': '{PROMPT}'}}, input_type=dict",
    ],
)
def test_strangers_words_are_blanked(text: str) -> None:
    found = header(text)
    assert PROMPT in found.message
    assert "out of memory" not in found.own
    assert len(found.own) == len(found.message)


@pytest.mark.parametrize(
    "text",
    [
        "ERROR 12-01 00:00:07 [core.py:9] ValueError: unknown model 'a/b' in config: {'x': 1}",
        "INFO 12-01 00:00:07 [logger.py:9] Trace frame log is saved to /tmp/x",
        "OSError: [Errno 28] No space left on device: '/data'",
        "INFO:     Application startup complete.",
    ],
)
def test_own_words_stay(text: str) -> None:
    found = header(text)
    assert found.own == found.message


def test_what_stands_around_stays() -> None:
    own = header('INFO:     10.0.0.7:1 - "POST /v1/x HTTP/1.1" 500 Internal Server Error').own
    assert own.startswith("10.0.0.7:1 - ")
    assert own.endswith('HTTP/1.1" 500 Internal Server Error')
    own = header("pydantic.ValidationError: Value error, no [input_value={'a': 1}, input_type=dict]").own
    assert own == "pydantic.ValidationError: Value error, no [input_value=        , input_type=dict]"
