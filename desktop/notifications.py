"""What a person needs to know, through the desktop's own service, else the tray bubble, else the status line."""

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from desktop.autostart import APP_ID, NAME
from engine.supervisor import Supervisor

log = logging.getLogger(__name__)

SERVICE, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
SHOWN_MS = 10_000
KEPT = 100  # past notifications
ANSWER_LIMIT = 5.0  # seconds the service may take
BROKEN = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,
    TimeoutError,
)  # what jeepney raises without a usable bus

type Action = Callable[[], object]


class DesktopService:
    """The notification service of the session bus, with buttons; `run` keeps the connection while the program runs.

    QtDBus cannot send the unsigned id, and Qt's own bubble loses urgency (platform.md 4): hence jeepney.
    """

    def __init__(self, bus: str = "SESSION") -> None:
        self._bus = bus
        self._router: Any = None
        self._settled = asyncio.Event()
        self._shown: dict[int, dict[str, Action]] = {}

    async def run(self) -> None:
        """Connect and hand pressed buttons to their actions until cancelled; without a service it ends at once."""
        try:
            if sys.platform == "linux":
                await self._listen()
        finally:
            self._router = None
            self._settled.set()

    async def _listen(self) -> None:
        from jeepney import DBusErrorResponse, MatchRule, message_bus
        from jeepney.io.asyncio import Proxy, open_dbus_router
        from jeepney.io.common import RouterClosed

        try:
            async with open_dbus_router(bus=self._bus) as router:
                rule = MatchRule(type="signal", interface=SERVICE, path=PATH)
                await Proxy(message_bus, router).AddMatch(rule)
                with router.filter(rule, bufsize=50) as signals:
                    self._router = router
                    self._settled.set()
                    while True:
                        self._on_signal(await signals.get())
        except (*BROKEN, RouterClosed, DBusErrorResponse) as error:
            log.info("no notification service: %s", type(error).__name__)

    async def show(self, title: str, body: str, buttons: list[tuple[str, str, Action]]) -> bool:
        """Show one notification; False if nobody can. Buttons: (id, label, action), `default` a click on the text."""
        await self._settled.wait()
        if self._router is None:
            return False
        from jeepney import DBusAddress, MessageType, new_method_call
        from jeepney.io.common import RouterClosed

        labels = [text for id_, label, _ in buttons for text in (id_, label)]
        hints = {"urgency": ("y", 1), "desktop-entry": ("s", APP_ID)}
        address = DBusAddress(PATH, SERVICE, SERVICE)
        try:
            async with asyncio.timeout(ANSWER_LIMIT):
                # Asked each time: the service may have come after us, or another one may have taken its place.
                reply = await self._router.send_and_get_reply(new_method_call(address, "GetCapabilities"))
                if reply.header.message_type is not MessageType.method_return:
                    return False
                if "body-markup" in reply.body[0]:
                    body = body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
                values = (NAME, 0, "", title, body, labels, hints, SHOWN_MS)
                reply = await self._router.send_and_get_reply(
                    new_method_call(address, "Notify", "susssasa{sv}i", values)
                )
        except (*BROKEN, RouterClosed):
            return False
        if reply.header.message_type is not MessageType.method_return:
            return False
        self._shown[reply.body[0]] = {id_: action for id_, _, action in buttons}
        return True

    def _on_signal(self, message: Any) -> None:
        from jeepney import HeaderFields

        name = message.header.fields.get(HeaderFields.member)
        if name == "ActionInvoked":
            id_, key = message.body
            if action := self._shown.get(id_, {}).get(key):
                action()
        elif name == "NotificationClosed":
            self._shown.pop(message.body[0], None)


type Kind = Literal["failures", "problems", "outcomes"]


@dataclass(frozen=True, slots=True)
class Past:
    """A notification of this run: when (epoch seconds), what it said, and which channel took it."""

    at: float
    title: str
    body: str
    channel: str


class Notifier:
    """Shows each key once until it is withdrawn, on the best channel there is; remembers what it told.

    `enabled` says whether a person wants a kind of them, `now` gives epoch seconds.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        service: DesktopService,
        *,
        enabled: Callable[[Kind], bool],
        bubble: Callable[[str, str], bool],
        status_line: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._service = service
        self._enabled = enabled
        self._bubble = bubble
        self._status_line = status_line
        self._now = now
        self._keys: set[str] = set()
        self._quiet_until = 0.0
        self.past: deque[Past] = deque(maxlen=KEPT)
        supervisor.start(self._service.run(), "notification service", "desktop")

    async def show(
        self, key: str, title: str, body: str, buttons: list[tuple[str, str, Action]], kind: Kind | None = "problems"
    ) -> str:
        """Returns the channel that took it: `service`, `bubble`, `line`, or "" when it was shown before.

        Without a kind it stands in the windows only.
        """
        if key in self._keys:
            return ""
        self._keys.add(key)
        self._status_line(f"{title}: {body}" if body else title)
        channel = "line"
        if kind is not None and self._enabled(kind) and not self.snoozed:
            if await self._service.show(title, body, buttons):
                channel = "service"
            elif self._bubble(title, body):
                channel = "bubble"
        self.past.appendleft(Past(self._now(), title, body, channel))
        return channel

    def withdraw(self, key: str) -> None:
        """What it told is over: the next time it is news again."""
        self._keys.discard(key)

    def snooze(self, until: float) -> None:
        """Only the windows tell anything before an instant (epoch seconds); 0 ends it."""
        self._quiet_until = until

    @property
    def snoozed(self) -> bool:
        """Whether nothing is shown outside the windows now."""
        return self._now() < self._quiet_until
