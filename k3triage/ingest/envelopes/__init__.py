"""One module per family of envelopes.

Line envelopes are functions `(text, draft) -> str | None`: the text inside, or None where the text is not so wrapped.
JSON envelopes are functions `(object) -> list[Entry] | None`.
"""
