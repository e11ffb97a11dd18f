"""Gathers the capture bundle on a host: what an incident's diagnosis needs, read only, redacted, in one archive."""
