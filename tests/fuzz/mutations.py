"""Damaged versions of the bytes of a file."""

from __future__ import annotations

import random

NUMBERS = (
    b"\x00",
    b"\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xfe\xff\xff\xff\x0f",
    b"-1",
)
"""Lengths and counts that are absurd in one of the formats."""
TEXTS = (b"null", b"[]", b"{}", b'""', b"1e999", b"-9223372036854775809", b"[" * 5000, b"\xc3\x28", b"../../x")
"""Values that a JSON file or a name must not have."""


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Returns the bytes with one to three damages: of a disk, of a copy that broke off, or of somebody's hand."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        start = dice.choice((0, len(data) // 2, len(data) * 7 // 8))  # at the front, many formats notice at once
        data = data[:start] + _damaged(data[start:], dice)
    return data


def _damaged(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice((1, 2, 4, 16, 64, 4096)))
    match dice.randrange(12):
        case 0:
            return data[:at]
        case 1:
            return data[at:]
        case 2:
            return data[:at] + bytes(end - at) + data[end:]
        case 3:
            return data[:at] + dice.randbytes(end - at) + data[end:]
        case 4:
            return data[:at] + data[end:]
        case 5:
            return data[:end] + data[at:]
        case 6:
            chosen = dice.choice(NUMBERS)
            return data[:at] + chosen + data[at + len(chosen) :]
        case 7:
            return data[:at] + dice.choice(TEXTS) + data[end:]
        case _:
            return _flipped(data, dice)


def _flipped(data: bytes, dice: random.Random) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
