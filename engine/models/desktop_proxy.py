"""The proxy a person set in the settings of GNOME or KDE, for programs that have no variable of the environment for it.

Other systems and desktops tell Python themselves. Proxies found by a script (PAC) are not followed.
"""

import ast
import configparser
import ipaddress
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_GNOME = {"GNOME", "UNITY", "X-CINNAMON", "CINNAMON", "BUDGIE", "PANTHEON"}
_SCHEMA = "org.gnome.system.proxy"
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Proxies:
    """Address of the proxy by scheme (`http`, `https`, `socks` for all others), and for which hosts there is none.

    `reversed`: a proxy for these hosts only.
    """

    by_scheme: Mapping[str, str]
    hosts: tuple[str, ...] = ()
    reversed: bool = False

    def lead_to(self, scheme: str, host: str) -> str:
        """The proxy on the way to a host; empty = none."""
        if any(_is_meant(host, one) for one in self.hosts) is not self.reversed:
            return ""
        return self.by_scheme.get(scheme) or self.by_scheme.get("socks", "")


NONE = Proxies({})


def desktop_proxies(environment: Mapping[str, str]) -> Proxies:
    """What the desktop of this session is set to. Blocking: asks a program, or reads a file."""
    desktops = {name.upper() for name in environment.get("XDG_CURRENT_DESKTOP", "").split(":")}
    if desktops & _GNOME and (program := shutil.which("gsettings", path=environment.get("PATH"))):
        return gnome(_output(program, environment))
    if "KDE" in desktops:
        home = Path(environment.get("HOME") or Path.home())
        return kde(_text(Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "kioslaverc"), environment)
    return NONE


def gnome(listing: str) -> Proxies:
    """From what `gsettings list-recursively` prints: a schema, a key and a value on each line."""
    values: dict[str, str] = {}
    for line in listing.splitlines():
        schema, _, rest = line.partition(" ")
        key, _, value = rest.partition(" ")
        values[f"{schema.removeprefix(_SCHEMA).lstrip('.')}.{key}".lstrip(".")] = value
    if _value(values.get("mode")) != "manual":
        return NONE
    found = {}
    for scheme in ("http", "https", "socks"):
        host, port = _value(values.get(f"{scheme}.host")), _value(values.get(f"{scheme}.port"))
        if host and port:
            prefix = "socks5" if scheme == "socks" else "http"
            found[scheme] = f"{prefix}://{_name_and_password(values, scheme)}{host}:{port}"
    hosts = _value(values.get("ignore-hosts"))
    return Proxies(found, tuple(map(str, hosts)) if isinstance(hosts, list) else ())


def kde(text: str, environment: Mapping[str, str]) -> Proxies:
    """From KDE's kioslaverc: set by hand, or as names of variables."""
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return NONE
    section = parser["Proxy Settings"] if parser.has_section("Proxy Settings") else {}
    kind = section.get("proxytype", "0").strip()
    if kind not in ("1", "4"):
        return NONE

    def value(name: str) -> str:
        said = section.get(name, "").strip()
        return environment.get(said, "") if kind == "4" else said

    found = {}
    for scheme in ("http", "https", "socks"):
        # The port stands behind a space, or a colon.
        if address := re.sub(r"\s+(?=\d+/?$)", ":", value(f"{scheme}proxy")):
            found[scheme] = re.sub(r"^socks://", "socks5://", address)
    hosts = tuple(part for part in re.split(r"[,\s]+", value("noproxyfor")) if part)
    return Proxies(found, hosts, section.get("reversedexception", "").strip().lower() == "true")


def _is_meant(host: str, pattern: str) -> bool:
    """Whether a name, a domain with all below it (`a.com`, `.a.com`, `*.a.com`) or a network is it."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        name, domain = host.lower(), pattern.strip().lower().lstrip("*").lstrip(".")
        return bool(domain) and (name == domain or name.endswith(f".{domain}"))


def _name_and_password(values: Mapping[str, str], scheme: str) -> str:
    if scheme != "http" or _value(values.get("http.use-authentication")) != "true":
        return ""
    user, password = (_value(values.get(f"http.authentication-{part}")) for part in ("user", "password"))
    return f"{quote(str(user), safe='')}:{quote(str(password), safe='')}@"


def _value(text: str | None) -> object:
    """A value as GVariant prints it: texts and lists look like Python's, numbers and words stay texts."""
    if not text:
        return ""
    if text.startswith(("'", '"', "[")):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return ""
    return "" if text == "0" or text.startswith("@") else text


def _output(program: str, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [program, "list-recursively", _SCHEMA],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
