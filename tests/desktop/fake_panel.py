"""A panel and a notification service on the session bus, in a process of its own.

Prints one JSON line per thing that happens: {"item": bus name}, {"notify": id, "title", "body", "actions", "urgency"}.
A line `press ID KEY` on standard input presses a notification's button. Without the argument `panel` there is no
StatusNotifierWatcher until the line `panel` comes.
"""

import asyncio
import json
import sys
from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.io.asyncio import DBusConnection, DBusRouter, Proxy, open_dbus_connection

WATCHER = "org.kde.StatusNotifierWatcher"
NOTIFICATIONS = "org.freedesktop.Notifications"
PROPERTIES: dict[str, Any] = {
    "IsStatusNotifierHostRegistered": ("b", True),
    "ProtocolVersion": ("i", 0),
    "RegisteredStatusNotifierItems": ("as", []),
}


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Panel:
    """Answers what Qt and the companion ask."""

    def __init__(self, connection: DBusConnection) -> None:
        self.connection = connection
        self.shown = 0

    async def answer(self, message: Message) -> None:
        fields = message.header.fields
        member, body = fields.get(HeaderFields.member), message.body
        reply: Message
        match fields.get(HeaderFields.interface), member:
            case ("org.freedesktop.DBus.Properties", "Get"):
                reply = new_method_return(message, "v", (PROPERTIES[body[1]],))
            case ("org.freedesktop.DBus.Properties", "GetAll"):
                reply = new_method_return(message, "a{sv}", (PROPERTIES,))
            case (_, "RegisterStatusNotifierItem"):
                say(item=fields[HeaderFields.sender], service=body[0])
                reply = new_method_return(message)
            case (_, "GetCapabilities"):
                reply = new_method_return(message, "as", (["actions", "body", "body-markup"],))
            case (_, "GetServerInformation"):
                reply = new_method_return(message, "ssss", ("fake", "tests", "1", "1.2"))
            case (_, "Notify"):
                self.shown += 1
                _, _, _, title, text, actions, hints, _ = body
                say(notify=self.shown, title=title, body=text, actions=actions, urgency=hints["urgency"])
                reply = new_method_return(message, "u", (self.shown,))
            case _:
                reply = new_error(message, "org.freedesktop.DBus.Error.UnknownMethod", "s", (str(member),))
        await self.connection.send(reply)

    async def press(self, id_: int, key: str) -> None:
        address = DBusAddress("/org/freedesktop/Notifications", NOTIFICATIONS, NOTIFICATIONS)
        await self.connection.send(new_signal(address, "ActionInvoked", "us", (id_, key)))
        await self.connection.send(new_signal(address, "NotificationClosed", "uu", (id_, 2)))


async def own(connection: DBusConnection, name: str) -> None:
    """Take a name; the answer comes through the receiving loop, which skips it."""
    await connection.send(message_bus.RequestName(name))


async def main() -> None:
    connection = await open_dbus_connection("SESSION")
    async with DBusRouter(connection) as router:
        await Proxy(message_bus, router).RequestName(NOTIFICATIONS)
        if "panel" in sys.argv[1:]:
            await Proxy(message_bus, router).RequestName(WATCHER)
    panel = Panel(connection)
    say(ready=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def commands() -> None:
        while line := (await lines.readline()).decode().split():
            if line[0] == "press":
                await panel.press(int(line[1]), line[2])
            elif line[0] == "panel":
                await own(connection, WATCHER)

    async def calls() -> None:
        while True:
            message = await connection.receive()
            if message.header.message_type is MessageType.method_call:
                await panel.answer(message)

    answering = asyncio.ensure_future(calls())
    await commands()
    answering.cancel()


if __name__ == "__main__":
    asyncio.run(main())
