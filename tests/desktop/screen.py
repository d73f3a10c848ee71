"""An X screen as a person meets it: what is on it, and keys and clicks of a real keyboard and mouse (XTEST)."""

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import QImage

ATTRIBUTES = (8, 12, 92)  # where width, height and map_state are in XWindowAttributes on 64-bit systems
VIEWABLE = 2
DEPTH = 3  # a window manager puts frames around windows
MODIFIERS = {"shift": b"Shift_L", "ctrl": b"Control_L", "alt": b"Alt_L"}
Z_PIXMAP = 2
KEY_PRESS, KEY_RELEASE, SHIFT = 2, 3, 1


@dataclass(frozen=True, slots=True)
class Shown:
    """A window on the screen: its id, its title, and where it is."""

    id: int
    title: str
    x: int
    y: int
    width: int
    height: int


def windows(display: str) -> list[Shown]:
    """Every mapped window with a title, those lying deeper first."""
    with _display(display) as (x11, screen):
        return list(_windows(x11, screen, x11.XDefaultRootWindow(screen), DEPTH))


def window_titles(display: str) -> list[str]:
    """Their titles."""
    return [one.title for one in windows(display)]


def uppermost(display: str) -> set[int]:
    """Ids of what lies directly on the screen: frames of windows, menus."""
    with _display(display) as (x11, screen):
        return {one.id for one in _children(x11, screen, x11.XDefaultRootWindow(screen))}


def topmost(display: str, x: int, y: int) -> Shown | None:
    """What covers a point, a menu say."""
    with _display(display) as (x11, screen):
        found = None
        for one in _children(x11, screen, x11.XDefaultRootWindow(screen)):
            if one.x <= x < one.x + one.width and one.y <= y < one.y + one.height:
                found = one
        return found


def active(display: str) -> str:
    """Title of the window that has the keyboard, by word of the window manager."""
    with _display(display) as (x11, screen):
        value = _property(x11, screen, x11.XDefaultRootWindow(screen), b"_NET_ACTIVE_WINDOW")
        window = int.from_bytes(value[:8], sys.byteorder)
        return _title(x11, screen, window) if window else ""


def type_keys(display: str, *keys: str) -> None:
    """Press keys, named as X names them and with modifiers before them (`ctrl+comma`), where the keyboard is."""
    with _display(display) as (x11, screen):
        test = ctypes.CDLL("libXtst.so.6")
        for key in keys:
            *held, name = key.split("+")
            names = [*(MODIFIERS[one] for one in held), name.encode()]
            codes = [x11.XKeysymToKeycode(screen, ctypes.c_ulong(x11.XStringToKeysym(one))) for one in names]
            assert all(codes), f"no key {key}"
            for code in codes:
                test.XTestFakeKeyEvent(screen, code, 1, ctypes.c_ulong(0))
            for code in reversed(codes):
                test.XTestFakeKeyEvent(screen, code, 0, ctypes.c_ulong(0))
            x11.XSync(screen, 0)


def click(display: str, x: int, y: int, button: int = 1) -> None:
    """Go there with the mouse and click."""
    with _display(display) as (x11, screen):
        test = ctypes.CDLL("libXtst.so.6")
        test.XTestFakeMotionEvent(screen, -1, x, y, ctypes.c_ulong(0))
        for pressed in (1, 0):
            test.XTestFakeButtonEvent(screen, button, pressed, ctypes.c_ulong(0))
        x11.XSync(screen, 0)


def press_keys(display: str, title: str, *keys: str) -> None:
    """Press keys in the window whose title begins so, also where no window manager gives it the keyboard."""
    with _display(display) as (x11, screen):
        root = x11.XDefaultRootWindow(screen)
        found = (one.id for one in _windows(x11, screen, root, DEPTH) if one.title.startswith(title))
        window = next(found, None)
        assert window is not None, f"no window {title}"
        for key in keys:
            shift, _, name = key.rpartition("+")
            code = x11.XKeysymToKeycode(screen, ctypes.c_ulong(x11.XStringToKeysym(name.encode())))
            assert code, f"no key {name}"
            for kind in (KEY_PRESS, KEY_RELEASE):
                event = KeyEvent(kind, 0, 1, screen, window, root, 0, 0, 1, 1, 1, 1, SHIFT if shift else 0, code, 1)
                x11.XSendEvent(screen, ctypes.c_ulong(window), 1, ctypes.c_long(kind - 1), ctypes.byref(event))
            x11.XSync(screen, 0)


def picture(display: str) -> QImage:
    """The screen as it is."""
    with _display(display) as (x11, screen):
        x11.XGetImage.restype = ctypes.POINTER(Image)
        width, height = x11.XDisplayWidth(screen, 0), x11.XDisplayHeight(screen, 0)
        root, planes = ctypes.c_ulong(x11.XDefaultRootWindow(screen)), ctypes.c_ulong(0xFFFFFFFF)
        image = x11.XGetImage(screen, root, 0, 0, width, height, planes, Z_PIXMAP)
        assert image, "no picture of the screen"
        data = ctypes.string_at(image.contents.data, image.contents.bytes_per_line * height)
        bytes_per_line = image.contents.bytes_per_line
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Image))(image.contents.destroy)(image)
        return QImage(data, width, height, bytes_per_line, QImage.Format.Format_RGB32).copy()


class KeyEvent(ctypes.Structure):
    """XKeyEvent, as large as XEvent."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("root", ctypes.c_ulong),
        ("subwindow", ctypes.c_ulong),
        ("time", ctypes.c_ulong),
        ("x", ctypes.c_int),
        ("y", ctypes.c_int),
        ("x_root", ctypes.c_int),
        ("y_root", ctypes.c_int),
        ("state", ctypes.c_uint),
        ("keycode", ctypes.c_uint),
        ("same_screen", ctypes.c_int),
        ("pad", ctypes.c_long * 16),
    )


class Image(ctypes.Structure):
    """XImage."""

    _fields_ = (
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("xoffset", ctypes.c_int),
        ("format", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("byte_order", ctypes.c_int),
        ("bitmap_unit", ctypes.c_int),
        ("bitmap_bit_order", ctypes.c_int),
        ("bitmap_pad", ctypes.c_int),
        ("depth", ctypes.c_int),
        ("bytes_per_line", ctypes.c_int),
        ("bits_per_pixel", ctypes.c_int),
        ("red_mask", ctypes.c_ulong),
        ("green_mask", ctypes.c_ulong),
        ("blue_mask", ctypes.c_ulong),
        ("obdata", ctypes.c_void_p),
        ("create", ctypes.c_void_p),
        ("destroy", ctypes.c_void_p),
    )


_IGNORE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda _display, _event: 0)


@contextlib.contextmanager
def _display(name: str) -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XDefaultRootWindow.restype = ctypes.c_ulong
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XStringToKeysym.restype = ctypes.c_ulong
    x11.XKeysymToKeycode.restype = ctypes.c_ubyte
    # Xlib ends the process at an error; a window that is gone by now is none.
    x11.XSetErrorHandler.restype = ctypes.c_void_p
    x11.XSetErrorHandler(_IGNORE)
    screen = ctypes.c_void_p(x11.XOpenDisplay(name.encode()))
    assert screen.value, f"no display {name}"
    try:
        yield x11, screen
    finally:
        x11.XCloseDisplay(screen)


def _windows(x11: ctypes.CDLL, screen: ctypes.c_void_p, parent: int, depth: int) -> Iterator[Shown]:
    """Those with a title, below a window; the lower ones first."""
    for one in _children(x11, screen, parent):
        if one.title:
            yield one
        elif depth > 1:
            yield from _windows(x11, screen, one.id, depth - 1)


def _children(x11: ctypes.CDLL, screen: ctypes.c_void_p, parent: int) -> Iterator[Shown]:
    tree, count, unused = ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint(), ctypes.c_ulong()
    out = [ctypes.byref(one) for one in (unused, unused, tree, count)]
    if not x11.XQueryTree(screen, ctypes.c_ulong(parent), *out):
        return
    children = [tree[index] for index in range(count.value)]
    if children:
        x11.XFree(tree)
    for window in children:
        attributes = (ctypes.c_ubyte * 256)()
        if not x11.XGetWindowAttributes(screen, ctypes.c_ulong(window), attributes):
            continue
        width, height, state = (int.from_bytes(bytes(attributes[at : at + 4]), sys.byteorder) for at in ATTRIBUTES)
        if state == VIEWABLE:
            x, y = ctypes.c_int(), ctypes.c_int()
            root = ctypes.c_ulong(x11.XDefaultRootWindow(screen))
            at = [ctypes.byref(one) for one in (x, y, unused)]
            x11.XTranslateCoordinates(screen, ctypes.c_ulong(window), root, 0, 0, *at)
            yield Shown(window, _title(x11, screen, window), x.value, y.value, width, height)


def _title(x11: ctypes.CDLL, screen: ctypes.c_void_p, window: int) -> str:
    return _property(x11, screen, window, b"_NET_WM_NAME").decode("utf-8", "replace")


def _property(x11: ctypes.CDLL, screen: ctypes.c_void_p, window: int, name: bytes) -> bytes:
    """A property's bytes, in units as Xlib gives them: numbers of 32 bits are longs."""
    kind, bits, length, left = ctypes.c_ulong(), ctypes.c_int(), ctypes.c_ulong(), ctypes.c_ulong()
    value = ctypes.c_void_p()
    out = [ctypes.byref(one) for one in (kind, bits, length, left, value)]
    atom = ctypes.c_ulong(x11.XInternAtom(screen, name, 0))
    x11.XGetWindowProperty(
        screen, ctypes.c_ulong(window), atom, ctypes.c_long(0), ctypes.c_long(256), 0, ctypes.c_ulong(0), *out
    )
    if not value.value:
        return b""
    size = {8: 1, 16: 2, 32: ctypes.sizeof(ctypes.c_long)}.get(bits.value, 0)
    found = ctypes.string_at(value, length.value * size)
    x11.XFree(value)
    return found
