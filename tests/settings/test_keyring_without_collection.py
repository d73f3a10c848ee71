"""A key store in which nothing was ever kept: asking it for a key must not make it ask for a new password."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_call, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, open_dbus_connection

SECRETS = "org.freedesktop.secrets"
BUS = """<busconfig><type>session</type><listen>unix:tmpdir={folder}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>"""
ASK = """
import asyncio, pathlib, sys
from engine.settings.secrets import Keys
print(repr(asyncio.run(Keys(lambda provider: (), pathlib.Path(sys.argv[1])).get("deepseek"))))
"""


class EmptyStore(threading.Thread):
    """The Secret Service without any collection; notes what it is asked."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.connection: DBusConnection = open_dbus_connection(address)
        self.connection.send_and_get_reply(message_bus.RequestName(SECRETS))
        self.asked: list[str] = []

    def run(self) -> None:
        while True:
            message = self.connection.receive()
            if message.header.message_type is not MessageType.method_call:
                continue
            member = message.header.fields[HeaderFields.member]
            self.asked.append(member)
            if member == "End":
                self.connection.send(new_method_return(message))
                return
            self.connection.send(new_error(message, "org.freedesktop.Secret.Error.NoSuchObject"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[tuple[str, EmptyStore]]:
    configuration = tmp_path / "bus.conf"
    configuration.write_text(BUS.format(folder=tempfile.gettempdir()))
    command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bus:
        assert bus.stdout is not None
        address = bus.stdout.readline().strip()
        service = EmptyStore(address)
        service.start()
        yield address, service
        with open_dbus_connection(address) as end:
            end.send_and_get_reply(new_method_call(DBusAddress("/", SECRETS, SECRETS), "End"), timeout=10)
        service.join()
        service.connection.close()
        bus.terminate()


def test_a_key_is_looked_up_without_a_collection_being_made(tmp_path: Path, store: tuple[str, EmptyStore]) -> None:
    address, service = store
    env = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": address, "HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "keys.toml")], env=env, capture_output=True, text=True, timeout=60
    )
    assert run.stdout == "''\n", run.stderr
    assert "Get" in service.asked
    assert not {"OpenSession", "CreateCollection"} & set(service.asked)  # how a new one is made
