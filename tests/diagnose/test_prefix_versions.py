"""The setting and the diagnosis, version by version: on, off, by default; hit or not."""

from dataclasses import dataclass

import pytest

from tests.diagnose.helpers import HYBRID, READY, engine, found, judge, launch, stats, version

V1 = ["0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.12.0", "0.13.0", "0.15.1", "0.17.1", "0.19.1", "0.21.0", "0.24.0"]
V1 += ["0.26.0", "0.27.0", "0.27.1", "0.28.0", "0.29.0", "0.31.0", "0.32.0", "0.33.0"]
ON, OFF = "'enable_prefix_caching': True", "'enable_prefix_caching': False"
ZERO, GOOD = [0.0] * 6, [0.0, 31.5, 48.0, 52.2, 55.0, 57.1]
DROPPED = (
    "(EngineCore pid=90) INFO 05-06 07:00:08 [config.py:291] Hybrid or mamba-based model detected: disabling prefix "
    "caching since it is not yet supported."
)


@dataclass(frozen=True)
class Row:
    """One log. flags: as launched. on: what the engine resolves it to. rates: what is printed while it serves."""

    release: str
    flags: str
    on: bool | None
    rates: tuple[float | None, ...]
    setting: str
    cause: str | None
    hybrid: bool = False
    dropped: bool = False

    def lines(self) -> list[str]:
        lines = launch(self.release, self.flags)
        lines += [HYBRID] if self.hybrid else []
        lines += [DROPPED] if self.dropped else []
        return [*lines, engine(self.release, self.on), *READY, *stats(self.release, list(self.rates))]

    def line(self) -> int | None:
        """Line that must be reported: the one that states the setting, else the first that shows the rate."""
        if self.cause is None:
            return None
        lines = self.lines()
        if self.cause.endswith("off_by_flag"):
            return 2
        if self.cause.endswith(("off_by_default", "disabled_by_other_feature")):
            word = "disabling prefix caching" if self.dropped else "with config: "
            return next(n for n, line in enumerate(lines, 1) if word in line)
        return next(n for n, line in enumerate(lines, 1) if "Avg prompt throughput" in line)


def table() -> list[Row]:
    never, by_flag, by_default = (f"prefix_cache.{n}" for n in ("never_hits", "off_by_flag", "off_by_default"))
    dropped = "prefix_cache.disabled_by_other_feature"
    rows = []
    for release in V1:
        late = version(release) >= (0, 30)
        silent = (None,) * 6 if late else tuple(ZERO)
        rows += [
            Row(release, "", True, tuple(GOOD), "on", None),
            Row(release, ON, True, tuple(GOOD), "on", None),
            Row(release, "", True, tuple(ZERO), "on", never),
            Row(release, ON, True, tuple(ZERO), "on", never),
            Row(release, OFF, False, silent, "off_by_flag", by_flag),
            Row(release, "", True, (0.0,), "on", None),
        ]
        if version(release) <= (0, 11, 0):
            rows += [
                Row(release, "", False, silent, "off_by_default", by_default, hybrid=True, dropped=True),
                Row(release, ON, False, silent, "off_by_feature", dropped, hybrid=True, dropped=True),
            ]
        elif version(release) <= (0, 27, 1):
            rows += [
                Row(release, "", False, silent, "off_by_default", by_default, hybrid=True),
                Row(release, ON, True, tuple(GOOD), "on", None, hybrid=True),
                Row(release, ON, True, tuple(ZERO), "on", never, hybrid=True),
            ]
        else:
            rows += [
                Row(release, "", True, tuple(GOOD), "on", None, hybrid=True),
                Row(release, "", True, tuple(ZERO), "on", never, hybrid=True),
                Row(release, OFF, False, silent, "off_by_flag", by_flag, hybrid=True),
            ]
    return rows


@pytest.mark.parametrize("row", table(), ids=lambda r: f"{r.release}-{r.flags[-5:]}-{r.on}-{r.rates[-1]}-{r.hybrid}")
def test_setting_and_diagnosis_of_every_version(row: Row) -> None:
    cache, _ = judge(row.lines())
    assert cache.setting is not None and cache.setting.value == row.setting
    assert found(row.lines()) == (row.cause, row.line())


def test_the_v0_engine_is_off_as_usual_and_prints_its_rate_apart() -> None:
    lines = [*launch("0.6.4"), engine("0.6.4", False, kind="V0"), *READY[1:], *stats("0.6.4", [0.0, 0.0])]
    assert found(lines) == (None, None)
    asked = [*launch("0.6.4", "enable_prefix_caching=False"), *lines[2:]]
    assert found(asked) == ("prefix_cache.off_by_flag", 2)
    lines = [*launch("0.6.4"), engine("0.6.4", True, kind="V0"), *READY[1:], *stats("0.6.4", [0.0, 63.25])]
    assert found(lines) == (None, None)


def test_none_of_0_8_means_off() -> None:
    cache, _ = judge([*launch("0.8.2"), engine("0.8.2", None, kind="V0"), *READY])
    assert cache.setting is not None and cache.setting.value == "off_as_usual"
    assert "V0" in cache.setting.because


@pytest.mark.parametrize(
    ("release", "setting"),
    [("0.26.0", "off_by_default"), ("0.27.1", "off_by_default"), ("0.28.0", "on"), ("0.33.0", "on")],
)
def test_kimi_k3_without_the_engines_line_is_judged_by_the_version(release: str, setting: str) -> None:
    cache, _ = judge([*launch(release, model="moonshotai/Kimi-K3"), *READY])
    assert cache.setting is not None and (cache.setting.value, cache.setting.by) == (setting, "version")
    assert cache.setting.unit == 1536


def test_a_build_without_a_number_has_no_default() -> None:
    cache, _ = judge([*launch("0.1.0", model="moonshotai/Kimi-K3"), *READY])
    assert cache.setting is None


def test_absent_is_not_zero() -> None:
    lines = [*launch("0.33.0"), engine("0.33.0", True), *READY, *stats("0.33.0", [None] * 12)]
    cache, _ = judge(lines)
    assert cache.state is None and found(lines) == (None, None)


def test_the_setting_is_that_of_the_first_of_several_engines() -> None:
    lines = [*launch("0.27.0"), HYBRID, engine("0.27.0", False), engine("0.27.0", False), *READY]
    assert found(lines) == ("prefix_cache.off_by_default", 4)


def test_a_restart_with_the_flag_mends_it() -> None:
    off = [*launch("0.27.0"), HYBRID, engine("0.27.0", False), *READY]
    on = [*launch("0.27.0", ON), HYBRID, engine("0.27.0", True), *READY, *stats("0.27.0", GOOD)]
    assert found([*off, *on]) == (None, None)
