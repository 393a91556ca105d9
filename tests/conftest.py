"""The environment of every test: no network, no home directory, separate caches, and the shared data if available.

Large texts and published vocabularies are not part of the project. `TOKSMITH_TEST_DATA` names their folder (default:
`../shared` next to the project, with `vocab/` and `corpora/`). A test that needs missing data is skipped with a reason.
"""

import importlib.util
import ipaddress
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from processors import skip_flushing

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("TOKSMITH_TEST_DATA") or ROOT.parent / "shared").resolve()
HOMES = ("HOME", "USERPROFILE")
CACHES = ("XDG_CACHE_HOME", "LOCALAPPDATA", "TOKSMITH_CACHE", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "HF_HOME")
# No test can use the network; libraries read these variables when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
CLOSED_PORT = 9  # the discard port: requests go to a proxy there, which is closed

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None, print_blob=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=10)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))

# Files of tests that cannot be imported without pyarrow, which has no wheel for some systems.
NEEDS_PYARROW = re.compile(r"^(?:import|from) (?:pyarrow|job_corpus)\b", re.MULTILINE)
HERE = Path(__file__).parent
needing = [str(path) for path in sorted(HERE.rglob("*.py")) if NEEDS_PYARROW.search(path.read_text("utf-8"))]
collect_ignore = [] if importlib.util.find_spec("pyarrow") else needing


def pytest_report_header() -> list[str]:
    """Report what is left out on this system."""
    return [f"left out, for lack of pyarrow: {', '.join(collect_ignore)}"] if collect_ignore else []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make quick`."""
    parser.addoption("--quick", action="store_true", help="one row of every table, without what is slow or a proof")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`, keep the first row of each table that is not slow."""
    if not config.getoption("quick"):
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("proof")):
            first.setdefault(item.nodeid.partition("[")[0], item)
    kept = {*first.values()}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_configure(config: pytest.Config) -> None:
    """Move home and caches into a folder of this session, before any module of toksmith is imported."""
    skip_flushing()
    if (named := os.environ.get("TOKSMITH_TEST_DATA")) and not Path(named).is_dir():
        raise pytest.UsageError(f"TOKSMITH_TEST_DATA={named} is not a directory")
    folder = Path(tempfile.mkdtemp(prefix="toksmith-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in (*HOMES, *CACHES):
        place = folder / ("home" if name in HOMES else name.lower())
        place.mkdir(exist_ok=True)
        patch.setenv(name, str(place))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        patch.setenv(name, f"http://127.0.0.1:{CLOSED_PORT}")
        patch.setenv(name.lower(), f"http://127.0.0.1:{CLOSED_PORT}")
    for name in ("NO_PROXY", "no_proxy"):
        patch.setenv(name, "127.0.0.1,localhost,::1")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "PYTHONWARNINGS"):
        patch.delenv(name, raising=False)
    patch.setenv("TERM", "xterm-256color")
    guard_network(patch)


def guard_network(patch: pytest.MonkeyPatch) -> None:
    """Turn any connection that leaves this machine into a failed test, not into an error that the code can catch."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(host: object, port: object) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        near = name in (None, "", "localhost") or is_loopback(str(name))
        if not near or port == CLOSED_PORT:
            pytest.fail(f"a test used the network: {name}, port {port}")

    def guarded(call: Any) -> Any:
        def wrapper(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                check(address[0], address[1])
            return call(self, address)

        return wrapper

    def guarded_getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        check(host, port)
        return getaddrinfo(host, port, *args, **options)

    patch.setattr(socket.socket, "connect", guarded(connect))
    patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
    patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


def is_loopback(host: str) -> bool:
    """Whether `host` is an address of this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, for modules that import `browsing`; they are skipped without Chromium."""
    from browsing import launched

    with launched() as running:
        yield running


# Fixtures of most of these modules; modules with other tokenizers or another page define their own.
@pytest.fixture(scope="module")
def toks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Tokenizers of several sizes, by name."""
    from browsing import tokenizers

    return tokenizers(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def playground(toks: dict[str, Any]) -> Iterator[Any]:
    """A playground of the tokenizers in `toks`."""
    import toksmith

    with toksmith.play(toks) as running:
        yield running


@pytest.fixture
def seen(browser: Any, playground: Any) -> Iterator[Any]:
    """The playground's page in the browser, checked against the general rules."""
    from browsing import watched

    with watched(browser, playground.url) as seen:
        yield seen


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of shared test data."""
    return existing_or_skip(DATA)


@pytest.fixture(scope="session")
def vocab_dir(data: Path) -> Path:
    """The folder of published vocabularies."""
    return existing_or_skip(data / "vocab")


@pytest.fixture(scope="session")
def corpora_dir(data: Path) -> Path:
    """The folder of real texts."""
    return existing_or_skip(data / "corpora")


def existing_or_skip(folder: Path) -> Path:
    """The folder; the test is skipped if it is missing."""
    if not folder.is_dir():
        pytest.skip(f"lacks {folder} (name a folder with vocab/ and corpora/ in TOKSMITH_TEST_DATA)")
    return folder
