"""Shell patterns on ids ("nccl.*"), without a regular expression where none is needed."""


def fits(name: str, pattern: str) -> bool:
    """Whether a name matches a shell pattern, case-sensitively."""
    plain = pattern.rstrip("*")
    if not any(char in plain for char in "*?["):
        return name == plain if plain == pattern else name.startswith(plain)
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)
