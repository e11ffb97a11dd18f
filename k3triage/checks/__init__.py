"""Holds the facts of an incident against a profile: each prerequisite is ok, violated or unknown."""
