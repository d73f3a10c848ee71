"""The program as a panel meets it: its icon and its menu over D-Bus."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from jeepney.io.asyncio import DBusRouter

from tests.desktop.session import call

ITEM, MENU = "org.kde.StatusNotifierItem", "com.canonical.dbusmenu"
type Entry = tuple[int, dict[str, Any], list[Any]]


class Tray:
    """A program's icon and menu, seen from the panel."""

    def __init__(self, router: DBusRouter, name: str) -> None:
        self.router = router
        self.name = name

    async def entries(self) -> dict[str, Entry]:
        """Visible entries of the menu, sub-menus as `Menu/Entry`, by label without shortcut marks."""
        _, root = await call(self.router, self.name, "/MenuBar", MENU, "GetLayout", "iias", 0, -1, [])
        found: dict[str, Entry] = {}

        def walk(node: Entry, prefix: str) -> None:
            for _, child in node[2]:
                label = child[1].get("label", ("s", ""))[1].replace("_", "")
                if label and child[1].get("visible", ("b", True))[1]:
                    found[prefix + label] = child
                    walk(child, f"{prefix}{label}/")

        walk(root, "")
        return found

    async def choose(self, label: str) -> None:
        """Click an entry."""
        entry = (await self.entries())[label]
        await call(self.router, self.name, "/MenuBar", MENU, "Event", "isvu", entry[0], "clicked", ("i", 0), 0)

    async def tooltip(self) -> str:
        """What the panel shows at the pointer."""
        reply = await call(
            self.router,
            self.name,
            "/StatusNotifierItem",
            "org.freedesktop.DBus.Properties",
            "Get",
            "ss",
            ITEM,
            "ToolTip",
        )
        return reply[0][1][2]

    async def activate(self) -> None:
        """A left click."""
        await call(self.router, self.name, "/StatusNotifierItem", ITEM, "Activate", "ii", 5, 5)


async def eventually(condition: Callable[[], Awaitable[object]]) -> None:
    """Until an awaited condition holds."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
