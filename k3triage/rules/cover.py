"""The hitting set: a few short literals that tell a block of log worth a full search from one that is not.

Searching for two thousand literals is several times slower than searching for some short ones that healthy lines do not
hold. Far from the start of an attempt the scan therefore looks for these alone, and only where one occurs for all
anchors. So far away an anchor counts only if it holds one of them: it is *strong*. The set is chosen so that every
example of every signature that tells of a fault holds a strong anchor (`rulecheck` proves it on each).
"""

import functools
import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

# Shorter ones are found, or nearly found, where nothing is: what Hyperscan then does costs more than the search itself.
_SHORTEST = 6
_LONGEST = 10
# How much dearer a literal gets with each time it stands in plain English, with each time its last three bytes stand in
# a healthy line, and with the share that its last four have of all bytes there (Hyperscan tells candidates by their
# ends); and what it is worth that a further anchor holds it.
_ENGLISH = 0.1
_ENDING = 0.2
_BYTES = 20.0
_ANCHOR = 0.3
# Healthy lines hold any number, also in hexadecimal.
_NUMBER = frozenset("0123456789abcdef")
HEALTHY = Path(__file__).parent / "tables" / "healthy.txt"


def choose(
    required: Sequence[str],
    wanted: Sequence[str],
    needs: Sequence[Sequence[str]],
    anchors: Sequence[str],
    healthy: str,
    prose: str,
) -> list[str]:
    """Short literals, few, none of which stands in a healthy line.

    required: anchors of which each must hold one; one that consists of healthy words alone is taken whole. wanted: the
    same, but those that are short or healthy go without. needs: for each example the anchors that it holds; one of them
    must hold one. anchors: those that are better off with one. prose: English text, whose words are common in logs too.
    """
    common = set(_cuts(healthy))
    english = Counter(_cuts(prose))
    endings = Counter(healthy[i : i + 3] for i in range(len(healthy) - 2))

    @functools.cache
    def telling(anchor: str) -> frozenset[str]:
        cuts = set(_cuts(anchor)) - common
        return frozenset(cut for cut in cuts if not any(map(str.isdigit, cut)) and not _NUMBER.issuperset(cut))

    def parts(anchor: str) -> frozenset[str]:
        return telling(anchor) or frozenset({anchor})

    # What has no choice comes first: an anchor that holds it needs no other.
    fixed = {next(iter(parts(anchor))) for anchor in required if len(parts(anchor)) == 1}

    def is_open(anchor: str) -> bool:
        return not any(literal in anchor for literal in fixed)

    items = [parts(anchor) for anchor in required if is_open(anchor)]
    items += [telling(anchor) for anchor in wanted if is_open(anchor) and len(anchor) >= _SHORTEST and telling(anchor)]
    items += [frozenset().union(*map(parts, held)) for held in needs if held and all(map(is_open, held))]
    shares = Counter(healthy)

    def cost(literal: str) -> float:
        share = sum(shares[char] for char in literal[-4:]) / len(healthy)
        return (1 + _ENGLISH * english[literal]) * (1 + _ENDING * endings[literal[-3:]]) * (1 + _BYTES * share)

    costs = {literal: cost(literal) for literal in frozenset().union(*items)}
    wishes = [parts(anchor) for anchor in anchors if is_open(anchor)]
    return sorted(fixed | _hitting_set(items, wishes, costs))


def _cuts(text: str) -> Iterator[str]:
    for length in range(_SHORTEST, _LONGEST + 1):
        for start in range(max(1, len(text) - length + 1)):
            yield text[start : start + length]


def _places(items: Sequence[frozenset[str]], literals: Collection[str]) -> dict[str, set[int]]:
    places: dict[str, set[int]] = {literal: set() for literal in literals}
    for number, item in enumerate(items):
        for literal in item & places.keys():
            places[literal].add(number)
    return places


def _hitting_set(
    items: Sequence[frozenset[str]], wishes: Sequence[frozenset[str]], costs: Mapping[str, float]
) -> set[str]:
    """Literals of which each item holds one: again and again the one that gives most for its cost."""
    held, wished = _places(items, costs), _places(wishes, costs)
    open_items, open_wishes = set(range(len(items))), set(range(len(wishes)))

    def worth(literal: str) -> float:
        fresh = len(held[literal] & open_items)
        return (fresh + _ANCHOR * len(wished[literal] & open_wishes)) / costs[literal] if fresh else 0.0

    # What a literal is worth only falls, so the best is one whose worth is what it was when it was queued.
    queue = [(-worth(literal), literal) for literal in costs]
    heapq.heapify(queue)
    chosen = set()
    while open_items:
        queued, literal = heapq.heappop(queue)
        now = worth(literal)
        if now and now < -queued:
            heapq.heappush(queue, (-now, literal))
        elif now:
            chosen.add(literal)
            open_items -= held[literal]
            open_wishes -= wished[literal]
    return chosen
