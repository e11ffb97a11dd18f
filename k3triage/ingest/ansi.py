r"""Takes terminal control sequences out of text.

Besides real ESC sequences, logs carry them as other programs spelt them: caret notation (`^[[36m`), syslog's octal
(`#033[36m`), source-code escapes (`\x1b[36m`, `\u001b[36m`, `\033[36m`, `\e[36m`), and colours whose ESC was lost.
"""

from k3triage.model.lazy import lazy

_ESCAPE = lazy(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, ended by BEL or ST
    r"|[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-Z\\\]^_`-~]"  # two-character sequences
    r")?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_SPELT = r"(?:\^\[|#033|(?<!\\)\\(?:x1[bB]|u001[bB]|0?33|e))"
_SPELT_SEQUENCE = lazy(_SPELT + r"(?:\[[0-?]*[ -/]*[A-Za-z]|\][^\x07^\\#]*(?:\x07|\^G|#007|\\a|" + _SPELT + r"\\+))")
_BARE = lazy(r"\[\d{1,3}(?:;\d{1,3})*m|\[m(?=[ (\[]|$)")
_BLANK_BARE = lazy(" (?:" + _BARE.pattern + ")")
_BARE_BEFORE_WORD = lazy(
    r" ?\[\d{1,3}(?:;\d{1,3})*m(?=\(|(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|\[?\d\d-\d\d )"
)
_TRIGGER = lazy(r"\[(?:[\d;?]+[A-Za-z]|[mKJH])")


def strip_ansi(text: str) -> str:
    """The text without terminal sequences; the very same object when there are none."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPE.sub("", text)
    if _TRIGGER.search(text) is None and "]8;" not in text:
        return text
    text = _SPELT_SEQUENCE.sub("", text)
    # One bare "[0m" may be an index or a unit in a message; two on a line, or one before a level, are colours.
    bare = list(_BARE.finditer(text))
    if len(bare) >= 2:
        # Where a blank stands before each of them, it replaced the ESC.
        blanks = all(text[match.start() - 1 : match.start()] == " " for match in bare)
        return _BLANK_BARE.sub("", text) if blanks else _BARE.sub("", text)
    return _BARE_BEFORE_WORD.sub("", text)
