"""Against a real Docker daemon of our own, where one can be started: collect from a failed server, then triage."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.helpers import API_KEY, CAUSE, HF, ODD, PLANTED, SECOND_KEY, UNKNOWN, WORDS, Bundle, failing_log

IMAGE = "vllm/vllm-openai:harbor"
SCRIPT = """\
#!/bin/sh
case "$1" in
--version) echo 'INFO 12-02 11:00:00 [__init__.py:216] Automatically detected platform cuda.'; echo 0.11.2; exit 0;;
esac
cat /server.log
case "$*" in *--linger*) exec sleep 600;; esac
exit 1
"""


def docker(*words: str, data: bytes | None = None) -> str:
    done = subprocess.run(["docker", *words], input=data, capture_output=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout.decode().strip()


def busybox() -> str | None:
    """A busybox that runs without any library."""
    for path in filter(None, (shutil.which("busybox"), "/bin/busybox", "/usr/bin/busybox")):
        if Path(path).is_file() and static(Path(path).read_bytes()):
            return path
    return None


def static(program: bytes) -> bool:
    """Whether a 64-bit ELF program names no interpreter among its headers."""
    (start,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return all(struct.unpack_from("<I", program, start + size * number)[0] != 3 for number in range(count))


@pytest.fixture(scope="module")
def daemon() -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("a Docker daemon needs root")
    missing = [name for name in ("docker", "dockerd", "containerd", "runc") if shutil.which(name) is None]
    if missing or busybox() is None:
        pytest.skip(
            f"not installed: {', '.join(missing) or 'busybox-static'} (apt-get install docker.io busybox-static)"
        )
    folder = Path(tempfile.mkdtemp(prefix="k3d"))  # a socket's path must be short
    socket = f"unix://{folder}/docker.sock"
    log = folder / "dockerd.log"
    (folder / "daemon.json").write_text("{}")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *("dockerd", "--storage-driver", "vfs", "--bridge", "none", "--iptables=false", "--ip-masq=false"),
                *("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--host", socket),
                *("--pidfile", f"{folder}/dockerd.pid", "--config-file", f"{folder}/daemon.json"),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    before = {name: os.environ.get(name) for name in ("DOCKER_HOST", "DOCKER_CONTEXT")}
    os.environ["DOCKER_HOST"] = socket
    os.environ.pop("DOCKER_CONTEXT", None)
    try:
        for _ in range(60):
            up = subprocess.run(["docker", "version"], capture_output=True, timeout=60, check=False).returncode == 0
            if up or process.poll() is not None:
                break
            time.sleep(0.5)
        if not up:
            pytest.skip(f"dockerd does not start here: {log.read_text(errors='replace').strip().splitlines()[-1:]}")
        build(folder / "root")
        yield
        names = docker("ps", "--all", "--quiet").split()
        if names:
            docker("rm", "--force", *names)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def build(root: Path) -> None:
    (root / "bin").mkdir(parents=True)
    shutil.copy(str(busybox()), root / "bin" / "busybox")
    for name in ("sh", "cat", "sleep", "df", "echo"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "bin" / "vllm").write_text(SCRIPT)
    (root / "bin" / "vllm").chmod(0o755)
    (root / "server.log").write_bytes(failing_log())
    packed = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
    changes = ('ENTRYPOINT ["vllm", "serve"]', "ENV PATH=/bin", "ENV CUDA_VERSION=13.0.1")
    docker("import", *(word for change in changes for word in ("--change", change)), "-", IMAGE, data=packed)
    variables = [f"HF_TOKEN={HF}", f"PLUGIN_CREDENTIALS={ODD}", f"FAVOURITE={UNKNOWN}", "NCCL_SOCKET_IFNAME=eth0"]
    environment = [word for variable in variables for word in ("--env", variable)]
    for name, words in (("server", WORDS[1:]), ("lingering", [*WORDS[1:], "--linger"])):
        docker("run", "--detach", "--network", "none", "--name", name, *environment, IMAGE, *words)
    for _ in range(100):
        if docker("inspect", "--format", "{{.State.Status}}", "server") == "exited":
            return
        time.sleep(0.1)
    raise AssertionError("the server does not fail")


def k3(*words: str) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory() as folder:
        # What this machine's kernel says is not the container's fault: a test beside this one may exhaust the memory.
        for name in ("journalctl", "dmesg"):
            (Path(folder) / name).write_text("#!/bin/sh\nexit 1\n")
            (Path(folder) / name).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "k3triage", *words],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.usefixtures("daemon")
def test_a_failed_container_is_collected_and_triaged(tmp_path: Path) -> None:
    before = docker("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Status}}").split("\n")
    path = tmp_path / "bundle.tar.gz"
    done = k3("collect", "--container", "server", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert path.stat().st_mode & 0o077 == 0
    after = docker("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Status}}").split("\n")
    assert [row.split()[:2] for row in after] == [row.split()[:2] for row in before], "nothing is left behind"

    bundle = Bundle(path.read_bytes())
    assert bundle.leaks() == []
    assert bundle.text("container-server/vllm-version.txt") == "0.11.2\n"
    command = bundle.entry("vllm --version")["command"]
    assert command[command.index("--entrypoint") + 1] == "vllm" and command[-1] == "--version"
    launch = bundle.text("container-server/launch.txt")
    assert f"image: {IMAGE}\n" in launch and "image id: sha256:" in launch and "exit code: 1\n" in launch
    assert (
        "command: vllm serve /models/harbor-32b --tensor-parallel-size 4 --api-key '[redacted]' '[redacted]'\n"
        in launch
    )
    assert "NCCL_SOCKET_IFNAME=eth0\n" in bundle.text("container-server/env.txt")
    assert "FAVOURITE=[redacted]\n" in bundle.text("container-server/env.txt")
    assert json.loads(bundle.members["container-server/inspect.json"])[0]["State"]["ExitCode"] == 1
    assert json.loads(bundle.members["container-server/image.json"])[0]["RepoTags"] == [IMAGE]
    assert "container die" in bundle.text("container-server/events.txt")
    assert "executable file not found" in bundle.entry("Python packages")["reason"]

    report = json.loads(k3("--format", "json", str(path)).stdout)
    assert (report["status"], report["verdict"]["cause"]) == ("diagnosed", CAUSE)
    first = report["verdict"]["first_anomaly"]
    assert first["source"] == f"{path}/container-server/server.log"
    line = bundle.text("container-server/server.log").split("\n")[first["line"] - 1]
    assert "ValueError: To serve at least one request" in line
    assert len(report["inputs"]) == len(bundle.members) - 1
    assert not any(secret in json.dumps(report) for secret in PLANTED)


@pytest.mark.usefixtures("daemon")
def test_a_running_container_is_asked_itself_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    started = docker("inspect", "--format", "{{.State.StartedAt}} {{.State.Running}}", "lingering")
    assert k3("collect", "--container", "lingering", "-o", str(path)).returncode == 0
    assert docker("inspect", "--format", "{{.State.StartedAt}} {{.State.Running}}", "lingering") == started
    bundle = Bundle(path.read_bytes())
    assert bundle.leaks() == []
    assert bundle.entry("vllm --version")["command"][:2] == ["docker", "exec"]
    assert "Max open files" in bundle.text("container-lingering/limits.txt")
    assert "Filesystem" in bundle.text("container-lingering/df.txt")


@pytest.mark.usefixtures("daemon")
def test_auto_takes_the_container_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    done = k3("collect", "auto", "-o", str(path))
    assert done.returncode == 0 and "took the container server" in done.stderr and "left out lingering" in done.stderr
    assert Bundle(path.read_bytes()).manifest["targets"][0]["name"] == "server"


@pytest.mark.usefixtures("daemon")
def test_without_redaction_everything_is_there_and_the_user_is_warned(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    done = k3("collect", "--container", "server", "--no-redact", "-o", str(path))
    assert "do not pass this bundle on" in done.stderr
    bundle = Bundle(path.read_bytes())
    assert bundle.manifest["redacted"] is False
    assert {API_KEY, SECOND_KEY, HF, ODD, UNKNOWN} <= {secret for _, secret in bundle.leaks()}
    assert bundle.text("container-server/server.log").count("\n") == failing_log().count(b"\n")


@pytest.mark.usefixtures("daemon")
def test_a_container_that_is_not_there_is_told_and_the_host_gathered(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    done = k3("collect", "--container", "nobody", "-o", str(path))
    assert done.returncode == 3 and "not found: container nobody" in done.stderr
    bundle = Bundle(path.read_bytes())
    assert "host/uname.txt" in bundle.members and "nobody" in bundle.manifest["targets"][0]["problem"]
