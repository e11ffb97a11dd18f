"""The pytest plugin, run by pytest on folders of rules."""

import pytest

from tests.rules.helpers import write_rule

pytest_plugins = ["pytester"]
SETTING = '[tool.pytest.ini_options]\nk3triage_rules = ["rules"]\n'


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyprojecttoml(SETTING)
    pytester.mkdir("rules")
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "-p", "no:k3triage", "-p", "k3triage.pytest_plugin", "-p", "no:cacheprovider", "-v", *words
    )


def test_each_example_and_lookalike_is_a_test(project: pytest.Pytester) -> None:
    write_rule(project.path / "rules")
    result = run(project)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "rules/flux_capacitor_empty.toml::form PASSED*",
            "rules/flux_capacitor_empty.toml::example-1 PASSED*",
            "rules/flux_capacitor_empty.toml::lookalike-1 PASSED*",
        ]
    )


def test_failures_show_the_place_and_no_stack(project: pytest.Pytester) -> None:
    write_rule(project.path / "rules", "config.strong", signature="precedence = 90")
    write_rule(project.path / "rules", "config.weak", signature="precedence = 10")
    result = run(project)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*weak.toml:25:8: the example is won by config.strong", "*25 | text = *", "*| *^"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_an_unreadable_file_is_one_failing_test(project: pytest.Pytester) -> None:
    path = write_rule(project.path / "rules")
    path.write_text(path.read_text().replace("title =", "titel ="))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no field is called 'titel'; did you mean 'title'?"])


def test_other_toml_files_are_left_alone(project: pytest.Pytester) -> None:
    write_rule(project.path)
    assert run(project).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_without_the_setting_nothing_is_collected(pytester: pytest.Pytester) -> None:
    write_rule(pytester.mkdir("rules"))
    assert run(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_one_test_can_be_chosen(project: pytest.Pytester) -> None:
    write_rule(project.path / "rules")
    run(project, "rules/flux_capacitor_empty.toml::example-1").assert_outcomes(passed=1)
