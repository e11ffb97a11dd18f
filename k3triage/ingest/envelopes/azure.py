"""Azure Monitor: rows of ContainerLog (`LogEntry`) and ContainerLogV2 (`LogMessage`), as objects or as tables."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import first, text_of, word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One row."""
    for key in ("LogMessage", "LogEntry"):
        text = text_of(item.get(key))
        if text is not None:
            break
    else:
        return None
    return [
        Entry(
            "azure",
            text,
            key,
            any_time(first(item, "TimeGenerated", "TimeGenerated [UTC]", "TimeOfCommand")),
            word(first(item, "LogSource", "LogEntrySource")),
            word(first(item, "PodName", "Computer")),
            word(first(item, "ContainerName", "ContainerID")),
        )
    ]


def tables(item: Any) -> list[Any] | None:
    """The rows of a query answer (`tables[].columns`, `tables[].rows`), as objects."""
    found = item.get("tables") if isinstance(item, dict) else None
    if not isinstance(found, list):
        return None
    rows: list[Any] = []
    for table in found:
        if not isinstance(table, dict) or not isinstance(table.get("columns"), list):
            return None
        names = [column.get("name") if isinstance(column, dict) else None for column in table["columns"]]
        for row in table.get("rows") or ():
            if isinstance(row, list):
                rows.append(dict(zip(names, row, strict=False)))
    return rows
