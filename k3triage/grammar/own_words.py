"""Which parts of a message strangers wrote: prompts, completions, request bodies, URL paths, argument values.

A prompt that says "CUDA out of memory" is no fault. Such parts become blanks of the same length, so that columns keep
their meaning. Values quoted by an exception stay: there the program speaks.
"""

from k3triage.model.lazy import lazy

# From here to the end of the message everything is a stranger's.
_TAIL = lazy(
    r"(?:\[[^\]]*\] )?(?:"
    r"(?:Received request|Generated response|Added request|Finished request|Aborted request|Aborting request) "
    r"|Initializing (?:an|a V\d) (?:LLM )?engine \([^)]*\) with config: "
    r"|(?:vLLM API server )?args: Namespace\("
    r"|(?:vLLM API server )?args: "
    r"|non-default args: "
    r"|server_args=ServerArgs\("
    r"|Unknown vLLM environment variable detected: "
    r"|The following fields were present in the request but ignored: "
    r"|Dumping (?:input data|scheduler output|scheduler stats|model input)[^:]*?(?:with config: |: )"
    r"|(?:Request|Response|request|response)[ _]body[:=] ?"
    r"|(?:Receive|Finish): obj="
    r"|HTTP request body: "
    r")"
)
# Files whose every line belongs to a logged request, also the lines that continue a prompt of several lines.
_REQUEST_FILES = ("logger.py:", "request_logger.py:", "dump_input.py:")
_REQUEST_FILE_WORDS = ("Received request ", "Generated response ", "Trace frame log", "Dumping ")
_HTTP = lazy(r'"(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CONNECT|TRACE|PRI) ([^"]*) HTTP/[\d.]+"')
_DEBUG_PROMPT = lazy(r"\b(?:prompt|prompts|messages|prompt_token_ids|input_text|multi_modal_data)['\"]?\s?[:=]")
_INPUT_VALUE = "input_value="
_INPUT_TYPE = ", input_type="


def own_words(message: str, location: str | None = None, level: str | None = None) -> str:
    """The message with what strangers wrote blanked out; the same object where there is nothing to blank."""
    if location is not None and location.startswith(_REQUEST_FILES) and not message.startswith(_REQUEST_FILE_WORDS):
        return " " * len(message)
    match = _TAIL.match(message)
    if match is not None:
        return _blank(message, match.end(), len(message))
    if " HTTP/" in message:
        message = _without_request_line(message)
    if "input_value=" in message:
        message = _without_input_values(message)
    if level == "DEBUG":
        prompt = _DEBUG_PROMPT.search(message)
        if prompt is not None:
            return _blank(message, prompt.end(), len(message))
    return message


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _without_request_line(message: str) -> str:
    return _HTTP.sub(lambda match: match[0].replace(match[1], " " * len(match[1]), 1), message)


def _without_input_values(message: str) -> str:
    """pydantic repeats what it was given, which may be a whole request: `input_value={...}, input_type=dict`."""
    parts = []
    start = 0
    while (found := message.find(_INPUT_VALUE, start)) >= 0:
        begin = found + len(_INPUT_VALUE)
        end = message.find(_INPUT_TYPE, begin)
        end = len(message) if end < 0 else end
        parts += [message[start:begin], " " * (end - begin)]
        start = end
    parts.append(message[start:])
    return "".join(parts)
