"""Tracebacks that `rich` drew: frames in a box, narrow enough to break paths, the exception's text below it."""

from k3triage.model.lazy import lazy

_TOP = lazy(r"\s*[╭┌+][─━-]+ ?Traceback \(most recent call last\):? ?[─━-]*[╮┐+]?\s*\Z")
_BOTTOM = lazy(r"\s*[╰└+][─━-]+[╯┘+]?\s*\Z")
_SIDE = lazy(r"\s*[│|┃]\s?(.*?)\s?[│|┃]?\s*\Z")
_FRAME = lazy(r"(\S.*?):(\d{1,9}) ?in ?(\S+)\Z")
_PARAGRAPH_LIMIT = 20


def opens_box(text: str) -> bool:
    """The upper edge with its title."""
    return "Traceback" in text and _TOP.match(text) is not None


def closes_box(text: str) -> bool:
    """The lower edge."""
    return _BOTTOM.match(text) is not None


class Box:
    """Collects the frames of one box."""

    def __init__(self) -> None:
        self._paragraph: list[str] = []

    def feed(self, text: str) -> tuple[str, int, str] | None:
        """Take one line of the box; gives a frame when the paragraph that names it is complete."""
        match = _SIDE.match(text)
        content = match[1].strip() if match else ""
        if content:
            if len(self._paragraph) < _PARAGRAPH_LIMIT:
                self._paragraph.append(content)
            return None
        joined, self._paragraph = "".join(self._paragraph), []
        found = _FRAME.match(joined)
        return (found[1], int(found[2]), found[3]) if found else None
