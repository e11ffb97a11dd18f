"""What a deployment must satisfy, as data with sources and dates: one TOML file a model."""

from k3triage.profiles.loader import choose_profile, load_profile, shipped

__all__ = ["choose_profile", "load_profile", "shipped"]
