"""Regular expressions out of Lark rules: the grammar files stay the only statement of what a header looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from k3triage.grammar.loader import build

if TYPE_CHECKING:
    from lark.grammar import Rule
    from lark.lark import Lark


class NotRegularError(ValueError):
    """The rule refers to itself, so no regular expression can stand for it."""


def derive(grammar: str, rule: str) -> str:
    """The regular expression of a rule, with one named group for each terminal that the tree would keep.

    A group is called after its terminal in lower case. The expression is not anchored. Only rules without recursion
    have one, and each terminal may stand once in a rule, since `re` allows a group name once.

    Raises: NotRegularError where the rule is recursive, KeyError where it does not exist.
    """
    parser = build(grammar, rule)
    rules: dict[str, list[Rule]] = {}
    for item in parser.rules:
        rules.setdefault(item.origin.name, []).append(item)
    return _rule(parser, rules, rule, ())


def _rule(parser: Lark, rules: dict[str, list[Rule]], name: str, open_rules: tuple[str, ...]) -> str:
    if name in open_rules:
        raise NotRegularError(f"{name} refers to itself")
    terminals = {terminal.name: terminal.pattern for terminal in parser.terminals}
    alternatives = []
    for rule in sorted(rules[name], key=lambda item: item.order):
        parts = []
        for symbol in rule.expansion:
            if not symbol.is_term:
                parts.append(_rule(parser, rules, symbol.name, (*open_rules, name)))
            elif symbol.filter_out:  # type: ignore[attr-defined]
                parts.append(_grouped(terminals[symbol.name].to_regexp()))
            else:
                group = symbol.name.rsplit("__", 1)[-1].lower()
                parts.append(f"(?P<{group}>{terminals[symbol.name].to_regexp()})")
        alternatives.append("".join(parts))
    return alternatives[0] if len(alternatives) == 1 else "(?:" + "|".join(alternatives) + ")"


def _grouped(pattern: str) -> str:
    return f"(?:{pattern})" if "|" in pattern else pattern
