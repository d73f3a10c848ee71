"""What is stored of a reading comes back the same."""

from engine.sources.model import Cursor, Header


def test_a_cursor_survives_its_stored_form() -> None:
    bare = Cursor(1, 2)
    assert Cursor.from_json(bare.to_json()) == bare
    header = Header("s", 0, 5, "/home/咖", False, 7, True)
    full = Cursor(2**63, 2**64, 10, 4, 2, "h", "f", header, 3, "damaged", "because", "partly", 99)
    assert Cursor.from_json(full.to_json()) == full
