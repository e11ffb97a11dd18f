"""The report for a person at a terminal: what failed, where, why, what to do. At most `MOST_LINES` lines."""

from collections.abc import Iterable, Sequence

from k3triage.model.checks import State
from k3triage.model.enums import Confidence, Decision, Outcome, Role, Status
from k3triage.model.report import ContextLine, FindingRef, Report, TimelineRow, Verdict
from k3triage.report.clean import clean, clean_lines, columns, cut_middle, fold, listing, number, wrap
from k3triage.report.i18n import Lang, word

MOST_LINES = 35
_CODES = {"bad": "1;31", "good": "1;32", "strong": "1", "dim": "2", "command": "36"}
# How many reasons, steps, warnings and wanted pieces of evidence are shown: the first row that fits is taken.
_AMOUNTS = (
    (4, 6, 3, 3),
    (3, 5, 2, 2),
    (3, 4, 2, 2),
    (2, 4, 1, 2),
    (2, 3, 1, 1),
    (1, 3, 1, 1),
    (1, 2, 0, 1),
    (1, 1, 0, 0),
)
_LONG_COMMAND = 3
_ROWS = 4


class _Page:
    """Lines of the report in one language, width and colour."""

    def __init__(self, report: Report, color: bool, width: int, lang: Lang) -> None:
        self.report = report
        self.color = color
        self.width = max(width, 40)
        self.lang: Lang = lang
        self.lines: list[str] = []

    def say(self, key: str, *values: str) -> str:
        return word(key, self.lang, *values)

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and style else text

    def add(self, text: str, style: str = "", first: str = "", rest: str | None = None) -> None:
        wrapped = wrap(text, self.width, first=first, rest=" " * len(first) if rest is None else rest)
        self.lines += [self.paint(line, style) if style else line for line in wrapped]

    def section(self, key: str) -> None:
        self.lines += ["", self.paint(self.say(key), "strong")]

    def command(self, command: str | None, indent: str) -> None:
        """A command on its own lines, never wrapped, so that it can be copied."""
        lines = clean_lines(command) if command else []
        for index, line in enumerate(lines[:_LONG_COMMAND]):
            self.lines.append(self.paint(f"{indent}{'$ ' if index == 0 else '  '}{line}", "command"))
        if len(lines) > _LONG_COMMAND:
            self.lines.append(f"{indent}  # {self.say('more', number(len(lines) - _LONG_COMMAND))}")

    def headline(self, verdict: Verdict) -> None:
        status = self.report.status
        confidence = self.say(verdict.confidence.value)
        phase = self.say("phase", verdict.phase.value)
        if status is Status.DIAGNOSED:
            head = f"{verdict.layer.value.upper()}: {verdict.title} ({confidence}, {phase})"
        elif status is Status.INCONCLUSIVE:
            guess = self.say("guess", verdict.layer.value)
            head = f"{self.say('inconclusive')} ({guess}, {phase})"
        else:
            head = f"{verdict.layer.value.upper()}: {self.say('unknown_failure')} ({phase})"
        self.add(head, "bad")

    def anomaly(self, verdict: Verdict) -> None:
        first = verdict.first_anomaly
        process = first.process
        name = f"{clean(first.source)}:{first.line}"
        place: list[str] = []
        if process.name or process.pid is not None:
            place.append(" ".join(filter(None, (process.name, None if process.pid is None else f"pid {process.pid}"))))
        place += [f"rank {process.rank}"] if process.rank is not None else []
        place += [f"node {process.node}"] if process.node else []
        place += [first.timestamp] if first.timestamp else []
        if first.block.end_line > first.block.start_line:
            place.append(self.say("lines", str(first.block.start_line), str(first.block.end_line)))
        details = "  ".join(map(clean, place))
        # The name stays whole, however long, so that an editor or a terminal can open it at that line.
        together = f"{name}  {details}".rstrip()
        fits = columns(together) <= self.width
        self.lines += ["", self.paint(together if fits else name, "strong")]
        if not fits and details:
            self.lines.append("    " + cut_middle(details, self.width - 4))
        gutter = max(len(str(number)) for number in (first.line, *(near.line for near in first.context))) + 2
        room = self.width - gutter - 3
        self.neighbours(gutter, [line for line in first.context if line.line < first.line])
        text = clean(first.text).strip()
        rows: list[str] = []
        for spare in range(0, _ROWS * room // 2, 8):  # rows that end at a blank hold less than their width
            rows = fold(cut_middle(text, _ROWS * room - spare), room)
            if len(rows) <= _ROWS:
                break
        marked = f"> {first.line}".rjust(gutter)
        self.lines += [
            f"{self.paint(marked if number == 0 else ' ' * gutter, 'bad')} | {row}".rstrip()
            for number, row in enumerate(rows)
        ]
        self.neighbours(gutter, [line for line in first.context if line.line > first.line])

    def neighbours(self, gutter: int, lines: list[ContextLine]) -> None:
        for line in lines:
            text = cut_middle(clean(line.text).strip(), self.width - gutter - 3)
            self.lines.append(self.paint(f"{line.line:>{gutter}} | {text}".rstrip(), "dim"))

    def why(self, verdict: Verdict, most: int) -> None:
        if not verdict.why or not most:
            return
        self.section("why")
        # That the place can be mended is said once, in the last line.
        plain = verdict.decision is Decision.REPAIR_IN_PLACE
        reasons = [reason for reason in verdict.why if not (plain and reason.startswith("Decision: "))]
        for reason in reasons[:most]:
            self.add(reason, first="  - ")

    def timeline(self, most: int) -> None:
        """Who failed when, over several inputs, each process once; the root is marked."""
        if len(self.report.inputs) < 2 or most < 2:
            return
        root = next((row for row in self.report.timeline if row.role is Role.ROOT), None)
        rows = [row for row in self.report.timeline if row is not root]
        shown = sorted([root, *_spread(rows, most)] if root else [], key=self.report.timeline.index)
        if len(shown) < 2:
            return
        self.section("timeline")
        for row in shown:
            mark = ">" if row is root else " "
            text = f"{row.when or '-':14} {row.who or row.source}  {row.what}  {row.source}:{row.line}"
            self.lines.append(
                self.paint(cut_middle(clean(f"  {mark} {text}"), self.width), "" if row is root else "dim")
            )

    def missing(self, verdict: Verdict, most: int, key: str = "missing") -> None:
        if not verdict.missing or not most:
            return
        self.section(key)
        for item in verdict.missing[:most]:
            self.add(f"{item.what}: {item.because}", first="  - ")
            self.command(item.command, "    ")
        self.left(len(verdict.missing) - most)

    def steps(self, verdict: Verdict, most: int) -> None:
        if not verdict.remediation or not most:
            return
        self.section("do")
        for index, step in enumerate(verdict.remediation[:most], 1):
            because = f" ({self.say('because', step.because)})" if step.because else ""
            self.add(step.action + because, first=f"  {index}. ")
            self.command(step.command, "     ")
        self.left(len(verdict.remediation) - most)

    def avoid(self, verdict: Verdict, most: int) -> None:
        if not verdict.avoid or not most:
            return
        self.section("avoid")
        for item in verdict.avoid[:most]:
            self.add(f"{item.action}: {item.because}", first="  - ")
        self.left(len(verdict.avoid) - most)

    def left(self, count: int) -> None:
        if count > 0:
            self.lines.append(f"    {self.say('left', number(count))}")

    def ending(self, verdict: Verdict | None) -> None:
        """One line each for echoes, other failures, recovered faults, attempts and what could not be read."""
        lines: list[str] = []
        findings = self.report.findings
        echoes = [f for f in findings if f.role is Role.CASCADE]
        if echoes:
            total = number(sum(f.count for f in echoes))
            counted = _counted(echoes)
            for most in (3, 2, 1):
                line = self.say("echoes", total, listing(counted, most, self.say("more")))
                if columns(line) <= self.width:
                    break
            lines.append(line)
        others = [f for f in findings if f.role is Role.ROOT and (verdict is None or f.cause != verdict.cause)]
        for key, group in (("others", others), ("recovered", [f for f in findings if f.role is Role.RECOVERED])):
            if group:
                lines.append(self.say(key, listing(_placed(group), 3, self.say("more"))))
        # Several inputs of one incident are not several attempts; only a second one within an input is.
        sources = [attempt.source for attempt in self.report.attempts]
        if len(sources) > len(set(sources)):
            lines.append(self.attempts(verdict))
        unmet = [check.id for check in self.report.checks if check.state is State.VIOLATED]
        if unmet:
            lines.append(self.say("unmet", self.report.profile or "", listing(unmet, 2, self.say("more"))))
        if verdict is not None and self.report.status is Status.DIAGNOSED:
            road = self.say("road", self.say(verdict.decision.value))
            lines.append(f"{road}; {self.say('more_at', verdict.cause)}")
        if lines:
            self.lines.append("")
            self.lines += [self.paint(cut_middle(clean(line), self.width), "dim") for line in lines]
        self.unread()

    def unread(self) -> None:
        for item in self.report.inputs:
            if item.error:
                self.add(self.say("unread", item.source, item.error), "bad")

    def attempts(self, verdict: Verdict | None) -> str:
        keys = {
            Outcome.FAILED: "failed",
            Outcome.HEALTHY: "healthy_n",
            Outcome.STOPPED: "stopped",
            Outcome.INCOMPLETE: "incomplete",
        }
        counts = [(key, sum(a.outcome is outcome for a in self.report.attempts)) for outcome, key in keys.items()]
        shown = ", ".join(self.say(key, number(count)) for key, count in counts if count)
        if verdict is not None:
            first = verdict.first_anomaly
            for attempt in self.report.attempts:
                if attempt.source == first.source and attempt.start_line <= first.line <= attempt.end_line:
                    place = f"{attempt.source}:{attempt.start_line}-{attempt.end_line}"
                    return self.say("attempts", shown, place)
        return self.say("attempts_plain", shown)

    def healthy(self) -> None:
        inputs = self.report.inputs
        lines = number(sum(item.lines or 0 for item in inputs))
        read = self.say("read_one", lines) if len(inputs) == 1 else self.say("read", number(len(inputs)), lines)
        unread = any(item.error for item in inputs)
        if not any(item.bytes for item in inputs):
            self.add(f"{self.say('nothing_read')} ({read})", "bad")
        else:
            key = "healthy_partly" if unread else "healthy"
            self.add(f"{self.say(key)} ({read})", "strong" if unread else "good")


def _spread(rows: Sequence[TimelineRow], most: int) -> list[TimelineRow]:
    """At most so many rows, processes that were not shown yet first."""
    seen: set[str] = set()
    first: list[TimelineRow] = []
    rest: list[TimelineRow] = []
    for row in rows:
        (rest if row.who in seen else first).append(row)
        seen.add(row.who)
    return [*first, *rest][:most]


def _counted(findings: Iterable[FindingRef]) -> list[str]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.cause] = counts.get(finding.cause, 0) + finding.count
    return [f"{cause} {number(n)}" for cause, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]


def _placed(findings: Iterable[FindingRef]) -> list[str]:
    return [f"{f.cause} at {f.first.source}:{f.first.line}" for f in findings]


def _build(report: Report, color: bool, width: int, lang: Lang, amounts: tuple[int, int, int, int]) -> list[str]:
    page = _Page(report, color, width, lang)
    verdict = report.verdict
    if verdict is None:
        page.healthy()
        page.ending(None)
        return page.lines
    why, steps, avoid, missing = amounts
    page.headline(verdict)
    page.anomaly(verdict)
    page.why(verdict, why)
    page.timeline(why)
    if report.status is Status.INCONCLUSIVE:
        # What to bring comes first here: steps for a cause that nobody has seen would be guesses.
        page.missing(verdict, max(steps, 1), "bring")
        page.avoid(verdict, avoid)
        page.ending(verdict)
        return page.lines
    page.steps(verdict, steps)
    page.avoid(verdict, avoid)
    page.missing(verdict, missing, "useful" if verdict.confidence is Confidence.CONFIRMED else "missing")
    if report.status is Status.UNKNOWN_FAILURE:
        page.lines.append("")
        page.add(page.say("unknown_hint"))
    page.ending(verdict)
    return page.lines


def render_text(report: Report, *, color: bool = False, width: int = 100, lang: Lang = "en") -> str:
    """The report as text that ends with a newline.

    color: ANSI colours. width: terminal columns (at least 40); only commands and single long words go beyond.
    lang: language of the fixed words; what rules and logs say stays as it is.
    """
    lines: list[str] = []
    for amounts in _AMOUNTS:
        lines = _build(report, color, width, lang, amounts)
        if len(lines) <= MOST_LINES:
            break
    return "\n".join(lines) + "\n"
