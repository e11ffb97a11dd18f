"""Progress bars and lines that several processes wrote into one: which pieces are records of their own."""

from k3triage.model.lazy import lazy

_BAR = lazy(
    r"\d%\||\d%\s+Completed|\bit/s|\bs/it|[kMG]i?B/s|\d%\s*\[|\[[=>#. -]{5,}\]|[━█▏▎▍▌▋▊▉]{3}|Extracting|Downloading"
)
_VARIABLE = lazy(r"[\d\s=>#.█▏▎▍▌▋▊▉━/|:,?<%\[\]-]+")
_LEVEL = r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_HINT = lazy(r" pid=|[A-Z] \d\d-\d\d |(?:it/s|s/it)\]")
# A bar of tqdm ends with this bracket; what follows on the line is someone else's.
_BEHIND_BAR = lazy(r"(?:it/s|s/it)\] *(?=[^\s\]])")
_HEADER = lazy(_LEVEL + r" \d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]\n]{1,120}\]|[\w./-]{1,80}:\d+\])")
_HEADER_START = lazy(_LEVEL + r" \d\d-\d\d \d\d:\d\d:\d\d ")
_PREFIX = lazy(r"\([A-Z][\w.:-]*(?: rank=\d+)? pid=\d+(?:, ip=[\w.:]+)?\)")
_TORN = lazy(r"\([A-Za-z]\w{0,40}(?: (?:r|ra|ran|rank|rank=\d*|p|pi|pid|pid=\d*))?$")
_BAR_END = lazy(r"(?:it/s|s/it|B/s|\d\d:\d\d(?:, *\?? ?[\d.]*)?)\]?[^\w]*$|\d%\|?[^\w]*$|Completed[^\w]*$")
# What launchers put before a line: times, "[Stage-0]", "(Process)", "worker:".
_LABEL = lazy(r"(?:(?:[\d:.,T/+Z-]{5,35}|\[[\w .:,/-]{1,40}\]|\([A-Za-z]{1,20}\)|[\w.-]{1,30}[:|]|[|>-])[ \t]+){1,6}")
# From here on a line holds what a user wrote, who may well paste a bar and a record behind it.
_QUOTED = lazy(r"(?:Received request|Generated response|Added request) |\b(?:prompt|output): ['\"]")
_MAX_PIECES = 64


def is_bar(text: str) -> bool:
    """Whether the text is a state of a progress bar."""
    return _BAR.search(text) is not None


def states(text: str) -> list[str]:
    """The parts of a line between bare CRs; of a run of states of one bar only the last.

    Empty parts go, unless all are empty. The first part stays even when it is blank, as the prefix before a bar
    belongs to what follows it: the caller drops it once its prefix is read.
    """
    parts = text.split("\r")
    kept: list[str] = []
    previous: str | None = None
    for part in parts:
        if not part.strip():
            continue
        skeleton = "bar" if is_bar(part) and _HEADER.search(part) is None else _VARIABLE.sub("", part)
        if kept and skeleton == previous and _PREFIX.search(part) is None:
            kept[-1] = part
        else:
            kept.append(part)
        previous = skeleton
    return kept or [""]


def glued(text: str) -> list[str]:
    """Cut a line where another process's record begins in it; a list of one where none does.

    A cut is made behind a bar, and before `(Name pid=N)` and `LEVEL MM-DD HH:MM:SS` if what stands before is a bar, a
    torn prefix, or runs straight into it; not where a message merely mentions them. A torn prefix or a launcher's
    label before a cut is left out.
    """
    # A level at the start is the line's own header, at most eight letters long.
    if _HINT.search(text, 8 if text[:1] in "DIWEC" else 1) is None:
        return [text]
    pieces: list[str] = []
    start = 0
    quoted = _QUOTED.search(text)
    limit = quoted.start() if quoted else len(text)
    while len(pieces) < _MAX_PIECES:
        cut = _next_cut(text, start)
        if cut is None or cut > limit:
            break
        before = text[start:cut]
        if before.strip() and not _TORN.fullmatch(before.strip()) and not _LABEL.fullmatch(before):
            pieces.append(before.rstrip())
        start = cut
    pieces.append(text[start:])
    return pieces


def _next_cut(text: str, start: int) -> int | None:
    position = start + 1
    for _ in range(_MAX_PIECES):
        header = _HEADER.search(text, position)
        prefix = _PREFIX.search(text, position)
        bar = _BEHIND_BAR.search(text, position)
        if bar is not None and not any(found and found.start() < bar.end() for found in (header, prefix)):
            return bar.end()
        if header is None and prefix is None:
            return None
        if prefix is not None and (header is None or prefix.start() < header.start()):
            at, end = prefix.span()
            if _cuts(text, start, at, strong=_HEADER_START.match(text, end + 1) is not None):
                return at
        else:
            assert header is not None
            at, end = header.span()
            if _cuts(text, start, at, strong=True):
                return at
        position = end
    return None


def _cuts(text: str, start: int, at: int, *, strong: bool) -> bool:
    before = text[start:at]
    tail = before[-60:]
    if _TORN.fullmatch(before.strip()) or _BAR_END.search(tail):
        return True
    if before[-1] in "'\"`>(=\\":
        return False
    if before[-1].isspace():
        # A record of its own that quotes another one, against bare text in front of a whole record.
        own = _HEADER_START.match(text, start) or _PREFIX.match(text, start)
        return strong and own is None
    return strong or before[-1] in "]|"
