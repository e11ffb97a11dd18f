"""Rows of CSV files that log services export: a time first, the line among the other columns."""

from k3triage.ingest.draft import Draft
from k3triage.ingest.times import stamp

_STREAMS = ("stdout", "stderr")
_MOST_COLUMNS = 40


def row(text: str, draft: Draft) -> str | None:
    """The longest column of a row that begins with a time; None where the text is no such row.

    A message of several lines breaks its row; what stands of it on the first line is taken.
    """
    quoted = text[:1] == '"'
    found = stamp(text, int(quoted))
    if found is None:
        return None
    end = found[1] + quoted
    if (quoted and text[end - 1 : end] != '"') or text[end : end + 1] != ",":
        return None
    columns = _columns(text[end + 1 :])
    if columns is None:
        return None
    draft.ns, draft.year_known = found[0], True
    draft.stream = next((column for column in columns if column in _STREAMS), draft.stream)
    draft.envelopes = (*draft.envelopes, "csv")
    return max(columns, key=len)


def _columns(text: str) -> list[str] | None:
    columns: list[str] = []
    at = 0
    while len(columns) < _MOST_COLUMNS:
        if text[at : at + 1] == '"':
            end = at + 1
            while (end := text.find('"', end)) >= 0 and text[end + 1 : end + 2] == '"':
                end += 2
            if end < 0:
                return [*columns, text[at + 1 :].replace('""', '"')]
            columns.append(text[at + 1 : end].replace('""', '"'))
            if end + 1 == len(text):
                return columns
            if text[end + 1] != ",":
                return None
            at = end + 2
        else:
            end = text.find(",", at)
            if end < 0:
                return [*columns, text[at:]]
            columns.append(text[at:end])
            at = end + 1
    return None
