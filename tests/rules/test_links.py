"""The causal model: what the shipped file holds, what a file may not hold."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from k3triage.rules import load_pack
from k3triage.rules.links_schema import LinksFile

CLASSES: dict[str, Any] = {"a": {"roles": ["root"]}, "b": {"roles": ["suspect"], "except": ["nccl.x"]}}
LINK: dict[str, Any] = {"name": "n", "cause": "a", "effect": "b", "over": ["node"], "because": "so"}
NAMES: dict[str, Any] = {"mismatch": "nccl.m", "straggler": "nccl.s", "timeouts": ["nccl.t"]}


def content(**changes: Any) -> dict[str, Any]:
    return {"class": CLASSES, "link": [{**LINK, **changes}], "collective": NAMES}


def test_a_good_file_is_taken() -> None:
    assert LinksFile.model_validate(content()).causes() == {"nccl.x", "nccl.m", "nccl.s", "nccl.t"}


@pytest.mark.parametrize(
    "changes",
    [
        {"cause": "nobody"},
        {"over": []},
        {"over": ["moon"]},
        {"order": "later"},
        {"before": -1},
        {"effect": "a"},  # a class with itself needs an order
        {"surprise": 1},
    ],
)
def test_a_bad_link_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LinksFile.model_validate(content(**changes))


def test_every_link_names_classes_and_gives_its_reason() -> None:
    links = load_pack().links
    for link in links.links:
        assert {link.cause, link.effect} <= links.classes.keys()
        assert len(link.because) > 10
    assert len({link.name for link in links.links}) == len(links.links)


def test_the_code_names_no_cause_of_the_model() -> None:
    """What explains what is data: a cause that the model names does not stand in the code of the diagnosis."""
    pack = load_pack()
    named = {cause for rule in pack.links.classes.values() for cause in rule.causes if "*" not in cause}
    folder = Path(__file__).parents[2] / "k3triage" / "diagnose"
    for path in ("causality.py", "choose.py", "collectives.py", "absent.py", "witness.py", "clocks.py", "incident.py"):
        text = (folder / path).read_text(encoding="utf-8")
        assert [cause for cause in named if cause in text] == []


def test_classes_select_by_every_field() -> None:
    classes = load_pack().links.classes
    gpu = classes["gpu_lost"]
    line: dict[str, Any] = {"role": "root", "layer": "hardware", "header": "kernel", "quiet": False}
    assert gpu.holds(cause="hardware.gpu_off_bus", **line)
    assert not gpu.holds(cause="hardware.ecc_single_bit_rate", **line)
    assert gpu.holds(cause="hardware.ecc_uncorrectable", **line)
    assert not gpu.holds(cause="hardware.gpu_off_bus", **{**line, "header": "vllm"})
    assert not gpu.holds(cause="hardware.gpu_off_bus", **{**line, "role": "suspect"})
    assert classes["stated"].holds(cause="x.y", **line)
    assert not classes["stated"].holds(cause="x.y", **{**line, "quiet": True})
