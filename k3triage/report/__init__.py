"""Renderers: each module turns a Report into one output format; `redact` takes secrets out of a Report."""
