"""The command line's words. Imports nothing heavy: `k3triage --help` answers at once."""

import argparse
import sys
from collections.abc import Sequence

import k3triage
from k3triage.cli.plainwords import COMMANDS

FORMATS = ("text", "json", "ndjson", "markdown", "html", "sarif", "github")
_EPILOG = """\
other commands:
  k3triage collect                   gather the evidence of this host into one redacted .tar.gz, which k3triage reads
  k3triage events FILE...            every typed event, one JSON object a line
  k3triage check FILE...             prerequisites of a profile (Kimi K3) against nvidia-smi, docker inspect, logs ...
  k3triage accept FILE...            whether the service may go back to work: five rungs, 0 where all hold
  k3triage explain CAUSE             the page of one cause; also: explain xid 79, cuda 803, nccl 2, errno 524, exit 137
  k3triage rules list|test|overlaps|schema|new  the rule pack: list, test, compare, print its schema, start a rule

exit codes: 0 nothing wrong found, 1 a failure was found, 2 wrong usage, 3 an input could not be read,
4 a rule pack is invalid"""


def _rules_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help="more rules (repeatable)")


def _work_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", metavar="N", type=_positive, help="threads (default: as many as help)")
    parser.add_argument("--engine", choices=("auto", "hyperscan", "re"), default="auto", help="multi-pattern engine")


def _positive(word: str) -> int:
    try:
        value = int(word)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of at least 1")
    return value


def _seconds(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds above 0")
    return value


def _triage() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage",
        usage="k3triage [options] FILE...   |   docker logs vllm 2>&1 | k3triage   |   k3triage COMMAND ...",
        description="Finds the first anomalous event in the logs of a vLLM deployment and says what to do.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"k3triage {k3triage.__version__}")
    parser.add_argument(
        "inputs", metavar="FILE", nargs="*", help="logs of one incident: files, globs, folders, - for stdin"
    )
    parser.add_argument(
        "--follow", action="store_true", help="keep reading; print a verdict when it settles or changes"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="what to print (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    _rules_option(parser)
    parser.add_argument("--profile", metavar="NAME|FILE.toml", help="also check what this deployment must satisfy")
    parser.add_argument(
        "--redact",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="take secrets and prompts out of the report",
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 although a failure was found")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="NO_COLOR is honoured")
    parser.add_argument("--stats", action="store_true", help="say on stderr how much was read and how fast")
    parser.add_argument("--lang", choices=("en", "ja"), default="en", help="language of the text report's fixed words")
    _work_options(parser)
    parser.set_defaults(subcommand="triage")
    return parser


def _collect() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage collect",
        description="Gathers what a diagnosis needs into one .tar.gz: the server's log from its start, launch command, "
        "image tag and digest, vLLM's version, packages, settings, and what the host says of GPUs, driver, kernel and "
        "network. It changes nothing on the host: for a container that has stopped, its image is started for a moment "
        "without GPUs and network to ask for versions. What is not there is noted in the bundle's manifest.json.",
        epilog="Without a name, or with 'auto', it looks for one vLLM server: a container of Docker, else a pod, else "
        "a process. Options that name one may be repeated, for several servers of one incident.",
        allow_abbrev=False,
    )
    parser.add_argument("auto", nargs="?", choices=("auto",), help="look for the server (also without this word)")
    parser.add_argument("--container", metavar="NAME", action="append", default=[], help="a container of Docker")
    parser.add_argument("--pod", metavar="NS/POD", action="append", default=[], help="a pod, by kubectl")
    parser.add_argument("--pid", metavar="PID", action="append", type=_positive, default=[], help="a process")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: k3triage-HOST-TIME.tar.gz)")
    parser.add_argument(
        "--redact",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="take out secrets, prompts and the values of unknown variables (default)",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=_seconds, default=30.0, help="seconds for each command, logs 4 times that (30)"
    )
    parser.set_defaults(subcommand="collect")
    return parser


def _events() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage events",
        description="Every typed event of the inputs, one JSON object a line.",
        allow_abbrev=False,
    )
    parser.add_argument("inputs", metavar="FILE", nargs="*", help="files, globs, folders, - for stdin")
    parser.set_defaults(subcommand="events")
    return parser


def _check() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage check",
        description="Whether a deployment meets the prerequisites of a profile, as far as the evidence tells.",
        epilog="exit codes: 0 nothing violated, 1 something violated, 2 wrong usage, 3 an input could not be read",
        allow_abbrev=False,
    )
    parser.add_argument(
        "inputs",
        metavar="FILE",
        nargs="*",
        help="output of nvidia-smi, docker inspect, pip list, env ... and logs, in any mix; - for stdin",
    )
    parser.add_argument("--profile", metavar="NAME|FILE.toml", help="default: by the model that is named, else kimi-k3")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 although a prerequisite is violated")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="NO_COLOR is honoured")
    _rules_option(parser)
    parser.set_defaults(subcommand="check")
    return parser


def _accept() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage accept",
        description="Whether a service holds the five rungs of acceptance, from its logs and /metrics: it starts and "
        "stays up, answers a short request, reuses a long prefix, takes more requests at a time without running out "
        "of memory, and serves over several nodes for a time.",
        epilog="exit codes: 0 all five hold (passed, or not applicable), 1 not, 2 wrong usage, 3 an input could not "
        "be read",
        allow_abbrev=False,
    )
    parser.add_argument("inputs", metavar="FILE", nargs="*", help="logs and saved /metrics texts; - for stdin")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 although a rung does not hold")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="NO_COLOR is honoured")
    parser.add_argument(
        "--redact", action=argparse.BooleanOptionalAction, default=False, help="take secrets out of the evidence"
    )
    _rules_option(parser)
    _work_options(parser)
    parser.set_defaults(subcommand="accept")
    return parser


def _explain() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="k3triage explain",
        description="The page of one cause, or what a xid, cuda, nccl, nvml, errno, exit, signal or reason code means.",
        allow_abbrev=False,
    )
    parser.add_argument("what", metavar="CAUSE|KIND CODE", nargs="+", help="startup_oom.kv_cache_too_small, or: xid 79")
    _rules_option(parser)
    parser.set_defaults(subcommand="explain")
    return parser


def _rules() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="k3triage rules", description="The rule pack.", allow_abbrev=False)
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|test|overlaps|schema|new")
    listed = actions.add_parser("list", help="all causes", allow_abbrev=False)
    listed.add_argument("--format", choices=("text", "json"), default="text")
    listed.add_argument("--layer", metavar="LAYER", help="only causes of this layer")
    _rules_option(listed)
    tested = actions.add_parser("test", help="check rule files and run their own examples", allow_abbrev=False)
    tested.add_argument(
        "places", metavar="DIR", nargs="*", help="check the rules of these folders or files (default: the shipped pack)"
    )
    overlaps = actions.add_parser("overlaps", help="causes that claim one line, and what decides", allow_abbrev=False)
    _rules_option(overlaps)
    actions.add_parser("schema", help="the JSON Schema of a rule file", allow_abbrev=False)
    new = actions.add_parser("new", help="start a rule file from a line of a log", allow_abbrev=False)
    new.add_argument("--from-line", metavar="LINE", required=True, help="the line by which the cause shows")
    new.add_argument("--id", metavar="LAYER.NAME", help="id of the cause (default: made from the line)")
    new.add_argument("-o", "--output", metavar="FILE", help="where to write (default: NAME.toml here)")
    parser.set_defaults(subcommand="rules")
    return parser


_READERS = ("triage", "events", "check", "accept")
_PARSERS = {
    "triage": _triage,
    "collect": _collect,
    "events": _events,
    "check": _check,
    "accept": _accept,
    "explain": _explain,
    "rules": _rules,
}


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Options of the command that the first word names; `subcommand` holds its name.

    Raises SystemExit as argparse does, with exit code 2 for wrong usage.
    """
    name = words[0] if words and words[0] in COMMANDS else "triage"
    rest = words[1:] if words and words[0] == name else words
    parser = _PARSERS[name]()
    if name in _READERS:
        # argparse reads intermixed words twice and forgets "--" in between.
        cut = rest.index("--") if "--" in rest else len(rest)
        options = parser.parse_intermixed_args(rest[:cut])
        options.inputs = [*options.inputs, *rest[cut + 1 :]]
    else:
        options = parser.parse_args(rest)
    if name in _READERS and not options.inputs:
        if sys.stdin is None or sys.stdin.isatty():
            print(f"usage: {parser.usage or parser.prog + ' FILE...'}\ntry: k3triage --help", file=sys.stderr)
            raise SystemExit(2)
        options.inputs = ["-"]
    return options
