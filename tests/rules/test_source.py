"""What a rule writer reads when a file is wrong: file, line, column and a caret under the place."""

from pathlib import Path

import pytest

from k3triage.errors import RulePackError
from k3triage.rulecheck import check_places
from k3triage.rules import load_pack
from k3triage.rules.loader import read_cause
from tests.rules.helpers import write_rule


def problems(tmp_path: Path, old: str, new: str) -> list[str]:
    """What is said of a good file with one text replaced."""
    path = write_rule(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return [str(problem).removeprefix(f"{path}:") for problem in check_places([tmp_path])]


def caret(problem: str) -> str:
    """The text of the file from the place under which the caret stands."""
    _, line, mark = problem.splitlines()
    return line[mark.index("^") :]


@pytest.mark.parametrize(
    ("old", "new", "place", "said", "at"),
    [
        ('layer = "config"', 'layer = "confg"', "4:9", "layer: input should be 'container'", '"confg"'),
        ('title = "A test cause"', "title = 3", "3:9", "title: input should be a valid string", "3"),
        ('title = "A test cause"', f'title = "{"x" * 91}"', "3:9", "91 characters; keep it under 90", '"xxx'),
        (
            'means = "Something',
            'meanz = "Something',
            "5:1",
            "no field is called 'meanz'; did you mean 'means'?",
            "meanz",
        ),
        ("[[check]]", "[[chekc]]", "1:1", "did you mean 'check'", ""),
        ('what = "Look"', 'why = "Look"', "13:1", "[[check]] lacks the field 'what'", "[[check]]"),
        (
            'anchor = "the flux capacitor is empty"',
            "anchor = \"the flux capacitor is empty\"\npattern = 'the (flux capacitor'",
            "11:16",
            "pattern: not a regular expression: missing )",
            "(flux capacitor'",
        ),
        (
            'anchor = "the flux capacitor is empty"',
            "anchor = \"the flux capacitor is empty\"\npattern = 'flux (?!x)'",
            "11:17",
            "look-ahead is outside the regex subset",
            "(?!x)'",
        ),
        ('checked = "2026-12-01"', 'checked = "yesterday"', "21:11", "checked: should be a day", '"yesterday"'),
        ('title = "A test cause"', 'title = "A test cause', "3:22", "not TOML", ""),
        ('because = "other words"', 'because = """other', "29:19", "at the end of the file", ""),
        ('id = "config.flux', 'id = "Config.flux', "2:6", "id: should be <layer>.<name>", '"Config.flux'),
    ],
)
def test_mistakes_are_shown_where_they_are(tmp_path: Path, old: str, new: str, place: str, said: str, at: str) -> None:
    found = problems(tmp_path, old, new)
    mine = next((problem for problem in found if problem.startswith(f"{place}: ")), None)
    assert mine is not None, found
    assert said in mine
    assert caret(mine).startswith(at)


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write_rule(tmp_path, "config.one", anchor="anchor number one", signature='role = "boss"\nnope = 1')
    write_rule(tmp_path, "config.two", anchor="anchor number two", steps="")
    (tmp_path / "three.toml").write_text("= 1\n")
    said = [str(problem) for problem in check_places([tmp_path])]
    assert [("one.toml" in text, "three.toml" in text) for text in said] == [
        (True, False),
        (True, False),
        (False, True),
    ]


def test_a_log_inside_an_example_is_not_taken_for_tables(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        'text = "ValueError: the flux capacitor is empty"',
        "text = '''\n[[step]]\nlayer = 1\nValueError: the flux capacitor is empty\n'''\nlinee = 2",
    )
    assert len(found) == 1 and found[0].startswith("30:1: no field is called 'linee'; did you mean 'line'?")


def test_an_example_that_another_cause_wins_is_shown_at_its_text(tmp_path: Path) -> None:
    write_rule(tmp_path, "config.strong", signature="precedence = 90")
    path = write_rule(tmp_path, "config.weak", signature="precedence = 10")
    (only,) = check_places([tmp_path])
    assert (only.file, only.line, only.message) == (str(path), 25, "the example is won by config.strong")
    assert caret(str(only)) == '"ValueError: the flux capacitor is empty"'


def test_a_lookalike_that_is_taken_is_shown_at_its_text(tmp_path: Path) -> None:
    found = problems(tmp_path, "something else entirely", "the flux capacitor is empty")
    assert [text.splitlines()[0] for text in found] == ["28:8: the look-alike is taken for this cause"]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b""], ids=["not UTF-8", "empty"])
def test_files_that_are_no_rules_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.toml").write_bytes(data)
    assert list(check_places([tmp_path]))
    with pytest.raises(RulePackError, match=r"x\.toml"):
        load_pack([tmp_path])


def test_the_caret_stays_in_sight_on_a_long_line(tmp_path: Path) -> None:
    found = problems(tmp_path, 'anchor = "the flux', f"pattern = 'flux{'x' * 500}(' # \nanchor = \"the flux")
    assert all(len(line) < 240 for line in found[0].splitlines()) and caret(found[0]).startswith("('")


def test_a_reader_gets_the_first_mistake(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    path.write_text(path.read_text().replace("[[check]]", "[[chekc]]"))
    with pytest.raises(RulePackError, match="no field is called 'chekc'"):
        read_cause(path)
