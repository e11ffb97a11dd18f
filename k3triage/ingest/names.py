"""Which files of a folder or archive may be logs, by their names."""

from pathlib import PurePath

# fmt: off
_NOT_LOGS = frozenset(
    (
        ".py", ".pyc", ".so", ".o", ".a", ".bin", ".safetensors", ".gguf", ".pt", ".pth", ".onnx", ".npy", ".npz",
        ".parquet", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".pdf", ".zip", ".tar", ".tgz", ".whl", ".deb",
        ".rpm", ".exe", ".dll", ".html", ".css", ".js", ".ts", ".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".md",
        ".lock", ".db", ".sqlite", ".toml", ".ipynb", ".woff", ".woff2", ".mp4", ".core",
    )
)
# fmt: on


def may_be_log(name: str) -> bool:
    """Whether a file's name, without its folders, does not speak against a log; hidden files are none.

    Rotated names ("x.log.1.gz") hide the kind; their own suffix tells enough to leave out what is no log.
    """
    return not name.startswith(".") and PurePath(name).suffix.lower() not in _NOT_LOGS
