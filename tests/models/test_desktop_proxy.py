"""The proxy of GNOME's and KDE's settings, where the environment names none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.models.desktop_proxy import NONE, desktop_proxies, gnome, kde
from engine.models.routes import Route
from tests.models.test_models_network import PROXIES
from tests.tools.model_client import world
from tests.tools.model_server import ModelServer, ok

LISTING = """\
org.gnome.system.proxy autoconfig-url ''
org.gnome.system.proxy ignore-hosts ['localhost', '127.0.0.0/8', '*.corp.example', 'intra.example', '10.0.0.0/8']
org.gnome.system.proxy mode 'manual'
org.gnome.system.proxy use-same-proxy true
org.gnome.system.proxy.http authentication-password 'p:w'
org.gnome.system.proxy.http authentication-user 'alex'
org.gnome.system.proxy.http enabled false
org.gnome.system.proxy.http host '127.0.0.1'
org.gnome.system.proxy.http port {port}
org.gnome.system.proxy.http use-authentication false
org.gnome.system.proxy.https host 'secure.example'
org.gnome.system.proxy.https port 3129
org.gnome.system.proxy.socks host ''
org.gnome.system.proxy.socks port 0
"""


@pytest.mark.parametrize(
    ("scheme", "host", "proxy"),
    [
        ("http", "model.example", "http://127.0.0.1:3128"),
        ("https", "model.example", "http://secure.example:3129"),
        ("https", "api.corp.example", ""),
        ("https", "corp.example", ""),
        ("https", "a.intra.example", ""),
        ("https", "notintra.example", "http://secure.example:3129"),
        ("https", "10.1.2.3", ""),
        ("https", "11.1.2.3", "http://secure.example:3129"),
    ],
)
def test_what_gnome_says(scheme: str, host: str, proxy: str) -> None:
    assert gnome(LISTING.format(port=3128)).lead_to(scheme, host) == proxy


def test_gnome_with_a_name_a_socks_proxy_or_none() -> None:
    listing = LISTING.format(port=3128).replace("use-authentication false", "use-authentication true")
    assert gnome(listing).lead_to("http", "x.example") == "http://alex:p%3Aw@127.0.0.1:3128"
    listing = listing.replace("socks host ''", "socks host 'sox'").replace("socks port 0", "socks port 1080")
    assert gnome(listing.replace("'secure.example'", "''")).lead_to("https", "x.example") == "socks5://sox:1080"
    for nothing in (listing.replace("'manual'", "'none'"), listing.replace("'manual'", "'auto'"), "", "No such schema"):
        assert gnome(nothing) == NONE
    assert gnome(listing.replace("['localhost'", "[what")).hosts == ()


@pytest.mark.parametrize(
    ("text", "scheme", "host", "proxy"),
    [
        ("ProxyType=1\nhttpProxy=http://corp 3128\n", "http", "a.example", "http://corp:3128"),
        ("ProxyType=1\nhttpsProxy=http://corp:3128/\n", "https", "a.example", "http://corp:3128/"),
        ("ProxyType=1\nsocksProxy=socks://sox 1080\n", "https", "a.example", "socks5://sox:1080"),
        ("ProxyType=1\nhttpProxy=http://corp 3128\nNoProxyFor=.example,other\n", "http", "a.example", ""),
        ("ProxyType=1\nhttpProxy=http://c 1\nNoProxyFor=b.example\nReversedException=true\n", "http", "a.example", ""),
        (
            "ProxyType=1\nhttpProxy=http://c 1\nNoProxyFor=a.example\nReversedException=true\n",
            "http",
            "a.example",
            "http://c:1",
        ),
        ("ProxyType=4\nhttpProxy=MY_PROXY\nNoProxyFor=MY_EXCEPTIONS\n", "http", "a.example", "http://mine:8"),
        ("ProxyType=4\nhttpProxy=MY_PROXY\nNoProxyFor=MY_EXCEPTIONS\n", "http", "b.example", ""),
        ("ProxyType=0\nhttpProxy=http://corp 3128\n", "http", "a.example", ""),
        ("ProxyType=2\nProxy Config Script=http://corp/proxy.pac\n", "http", "a.example", ""),
    ],
)
def test_what_kde_says(tmp_path: Path, text: str, scheme: str, host: str, proxy: str) -> None:
    environment = {
        "XDG_CURRENT_DESKTOP": "KDE",
        "XDG_CONFIG_HOME": str(tmp_path),
        "MY_PROXY": "http://mine:8",
        "MY_EXCEPTIONS": "b.example",
    }
    (tmp_path / "kioslaverc").write_text(f"[Proxy Settings]\n{text}\n[Other]\na=b\n")
    assert desktop_proxies(environment).lead_to(scheme, host) == proxy


def test_a_damaged_or_missing_file_is_no_proxy(tmp_path: Path) -> None:
    assert kde("no section = 1\n[", {}) == NONE
    assert desktop_proxies({"XDG_CURRENT_DESKTOP": "KDE", "HOME": str(tmp_path)}) == NONE
    assert desktop_proxies({"XDG_CURRENT_DESKTOP": "GNOME", "PATH": str(tmp_path)}) == NONE
    assert desktop_proxies({"XDG_CURRENT_DESKTOP": "sway"}) == NONE


def _set_gnome(folder: Path, port: int) -> dict[str, str]:
    """The environment of a GNOME whose person has set a proxy: asked through the real program where there is one."""
    environment = {
        **os.environ,
        "XDG_CURRENT_DESKTOP": "ubuntu:GNOME",
        "XDG_CONFIG_HOME": str(folder),
        "GSETTINGS_BACKEND": "keyfile",
    }
    program = shutil.which("gsettings")
    if program is None:
        listing = folder / "listing"
        listing.write_text(LISTING.format(port=port))
        script = folder / "gsettings"
        script.write_text(f"#!/bin/sh\nexec cat {listing}\n")
        script.chmod(0o755)
        return environment | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    for schema, key, value in (("", "mode", "manual"), (".http", "host", "127.0.0.1"), (".http", "port", str(port))):
        subprocess.run([program, "set", f"org.gnome.system.proxy{schema}", key, value], env=environment, check=True)
    return environment


async def test_a_model_is_asked_through_the_proxy_of_the_desktop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    with ModelServer([ok("yes")]) as proxy:
        for name, value in _set_gnome(tmp_path, proxy.port).items():
            monkeypatch.setenv(name, value)
        async with world(tmp_path) as w:
            reply = await w.chat(Route("mine", "m", base_url="http://model.example/v1"))
    assert reply.text == "yes" and proxy.requests[0].path == "http://model.example/v1/chat/completions"
