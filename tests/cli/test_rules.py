"""`explain` and `rules`, as processes."""

import json
import tomllib
from pathlib import Path

import pytest

from k3triage.cli.draft import draft
from k3triage.errors import UsageError
from k3triage.rules.schema import Cause
from tests.cli.test_command import CAUSE, k3

LINE = "(EngineCore_DP0 pid=512) ERROR 12-02 11:59:37 [core.py:842] RuntimeError: The flux buffer of rank 3 overflowed at 0x7f00 ('/data/x')"


def test_explain_shows_the_sections_of_a_cause() -> None:
    done = k3("explain", CAUSE)
    assert done.returncode == 0 and done.stdout.startswith(f"{CAUSE}: ")
    heads = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")][2:]
    assert heads == [
        h
        for h in ("Looks like", "Means", "Does not mean", "Check", "Fix", "Avoid", "Not to be confused with", "Sources")
        if h in heads
    ]
    assert {"Looks like", "Means", "Does not mean", "Check", "Fix", "Sources"} <= set(heads)
    assert "$ " in done.stdout and "https://" in done.stdout


@pytest.mark.parametrize("wrong", ["startup_oom.kv_cache_to_small", "kv_cache_too_small", "oom.kv_cache_too_small"])
def test_explain_offers_the_nearest_ids(wrong: str) -> None:
    done = k3("explain", wrong)
    assert done.returncode == 2 and CAUSE in done.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("xid", "79"), "bus"),
        (("cuda", "803"), "driver"),
        (("nccl", "2"), "ncclSystemError"),
        (("errno", "12"), "ENOMEM"),
        (("exit", "137"), "SIGKILL"),
        (("nvml", "18"), "version"),
        (("signal", "9"), "SIGKILL"),
    ],
)
def test_explain_knows_codes(words: tuple[str, str], part: str) -> None:
    done = k3("explain", *words)
    assert done.returncode == 0 and part.lower() in done.stdout.lower()


def test_list_filters_by_layer_in_both_formats() -> None:
    rows = json.loads(k3("rules", "list", "--format", "json").stdout)
    some = json.loads(k3("rules", "list", "--format", "json", "--layer", "startup_oom").stdout)
    assert {row["layer"] for row in some} == {"startup_oom"} and len(some) < len(rows)
    assert CAUSE in {row["id"] for row in some}
    text = k3("rules", "list", "--layer", "startup_oom").stdout.splitlines()
    assert [line.split()[0] for line in text] == [row["id"] for row in some]


def test_schema_is_the_schema_of_a_cause() -> None:
    schema = json.loads(k3("rules", "schema").stdout)
    assert schema["title"] == "Cause" and {"id", "signature", "means", "sources"} <= set(schema["required"])


def test_draft_is_a_valid_rule_about_the_line() -> None:
    made = draft(LINE)
    rule = Cause.model_validate(tomllib.loads(made.text))
    (signature,) = rule.signature
    assert signature.anchor and signature.anchor in LINE and "overflowed" in LINE
    assert not any(part in signature.anchor for part in ("EngineCore", "core.py", "512", "0x7f00"))
    assert rule.id.startswith("unknown.")
    import re

    assert signature.pattern and re.search(
        signature.pattern, LINE.replace("rank 3", "rank 17").replace("0x7f00", "0xbeef")
    )
    assert not re.search(signature.pattern, "RuntimeError: something else")


@pytest.mark.parametrize(
    "line",
    [
        "it's a \"quoted\" 'mess' \\ of marks here",
        "\x1b[31mred failure of the pump\x1b[0m",
        "日本語のエラー: disk controller lost",
    ],
)
def test_draft_survives_odd_lines(line: str) -> None:
    Cause.model_validate(tomllib.loads(draft(line, "hardware.odd_line").text))


def test_draft_takes_secrets_out_and_refuses_what_it_cannot_use() -> None:
    assert "hunter22" not in draft("LoginError: password=hunter22 was refused by the hub").text
    for line, cause in (("12 34", None), ("a good line of words", "nonsense.name"), ("a good line of words", "nccl")):
        with pytest.raises(UsageError):
            draft(line, cause)


def test_new_writes_a_file_that_wins_its_example_and_never_overwrites(tmp_path: Path) -> None:
    target = tmp_path / "flux_overflow.toml"
    done = k3("rules", "new", "--from-line", LINE, "--id", "gpu_kernel.flux_overflow", "-o", str(target))
    assert done.returncode == 0 and "TODO" in target.read_text()
    assert k3("rules", "new", "--from-line", LINE, "-o", str(target)).returncode == 2
    checked = k3("rules", "test", str(tmp_path))
    # Nothing is wrong with it but what only a person can write.
    said = [line for line in checked.stdout.splitlines() if line.startswith(str(target))]
    assert checked.returncode == 4 and said and all(line.endswith("still to be written") for line in said)
    found = k3("--format", "json", "--rules", str(tmp_path), stdin=LINE + "\n")
    assert json.loads(found.stdout)["verdict"]["cause"] == "gpu_kernel.flux_overflow"


def test_an_invalid_rule_is_named_and_ends_with_four(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('id = "nccl.bad"\ntitle = "x"\n')
    checked = k3("rules", "test", str(tmp_path))
    assert checked.returncode == 4 and "bad.toml" in checked.stdout
    used = k3("--rules", str(tmp_path), stdin="x\n")
    assert used.returncode == 4 and "bad.toml" in used.stderr and used.stdout == ""


def test_the_shipped_pack_passes_its_own_test() -> None:
    done = k3("rules", "test")
    assert (done.returncode, done.stdout) == (0, "")
