"""Tests have no network and no home directory, as `conftest.py` promises."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CACHES, HOMES
from processors import LIMIT_S
from systems import WINDOWS


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org", b"example.org"])
def test_the_network_is_out_of_reach(host: str | bytes) -> None:
    with pytest.raises(pytest.fail.Exception, match="used the network"):
        socket.create_connection((host, 80), timeout=LIMIT_S)  # type: ignore[arg-type]  # bytes work, and must be refused too


@pytest.mark.parametrize("call", ["connect", "connect_ex"])
def test_a_bare_socket_has_no_network(call: str) -> None:
    with socket.socket() as bare, pytest.raises(pytest.fail.Exception, match="used the network"):
        getattr(bare, call)(("192.0.2.1", 80))


FETCH = f"from urllib.request import urlopen; urlopen('http://192.0.2.1/', timeout={LIMIT_S})"


def test_a_request_is_refused_here_and_in_child_processes() -> None:
    with pytest.raises(pytest.fail.Exception, match="used the network"):
        exec(FETCH, {})
    child = subprocess.run([sys.executable, "-c", FETCH], capture_output=True, encoding="utf-8", check=False)
    assert child.returncode == 1 and "refused" in child.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_can_be_reached(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection((host, server.getsockname()[1]), timeout=LIMIT_S).close()


@pytest.mark.parametrize("name", [*HOMES, *CACHES])
def test_homes_and_caches_belong_to_the_session(name: str) -> None:
    assert Path(os.environ[name]).parent.name.startswith("toksmith-tests-")
    if name == "HOME" and not WINDOWS:
        assert Path.home() == Path(os.environ[name])
