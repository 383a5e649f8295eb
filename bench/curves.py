"""Draws what was measured over time as one SVG picture: a small chart for each value, a line for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Curve = Sequence[Mapping[str, float]]

WIDTH, HEIGHT, GAP, LEFT, TOP = 330, 150, 50, 55, 50
COLOURS = ("#b45309", "#0f6b8f", "#15803d", "#7e22ce")
TICKS = 4


def draw(curves: Mapping[str, Curve], *, along: str) -> str:
    """Returns the picture; ``along`` is the value on the horizontal axis of every chart."""
    values = [name for name in next(iter(curves.values()))[0] if name != along]
    longest = max(point[along] for curve in curves.values() for point in curve)
    columns = 2
    total_width = columns * (WIDTH + LEFT + 15)
    total_height = TOP + -(-len(values) // columns) * (HEIGHT + GAP)
    about = escape(f"{', '.join(values)} over {along}")
    box = f'viewBox="0 0 {total_width} {total_height}" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{about}">',
        f'<rect width="{total_width}" height="{total_height}" fill="#ffffff"/>',
    ]
    for number, name in enumerate(curves):
        x = LEFT + number * 180
        parts.append(f'<path d="M{x} 16h24" stroke="{COLOURS[number]}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 30}" y="20" fill="#1f2933">{escape(name)}</text>')
    for number, value in enumerate(values):
        x, y = LEFT + number % columns * (WIDTH + LEFT + 15), TOP + number // columns * (HEIGHT + GAP)
        parts += _chart(curves, along, value, longest, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _chart(curves: Mapping[str, Curve], along: str, value: str, longest: float, x: int, y: int) -> list[str]:
    most = _round_up(max(point[value] for curve in curves.values() for point in curve))
    parts = [f'<text x="{x}" y="{y - 6}" fill="#1f2933" font-weight="bold">{escape(value)}</text>']
    for tick in range(TICKS + 1):
        at = y + HEIGHT - HEIGHT * tick / TICKS
        parts.append(f'<path d="M{x} {at:.1f}h{WIDTH}" stroke="#d9e2ec"/>')
        parts.append(
            f'<text x="{x - 6}" y="{at + 4:.1f}" fill="#52606d" text-anchor="end">{most * tick / TICKS:,g}</text>'
        )
        along_text = f"{longest * tick / TICKS:.3g}"
        middle = x + WIDTH * tick / TICKS
        parts.append(
            f'<text x="{middle:.1f}" y="{y + HEIGHT + 15}" fill="#52606d" text-anchor="middle">{along_text}</text>'
        )
    parts.append(f'<text x="{x + WIDTH}" y="{y + HEIGHT + 29}" fill="#52606d" text-anchor="end">{along}</text>')
    for number, curve in enumerate(curves.values()):
        points = [
            f"{x + WIDTH * point[along] / longest:.1f} {y + HEIGHT - HEIGHT * point[value] / most:.1f}"
            for point in curve
        ]
        parts.append(f'<path d="M{"L".join(points)}" fill="none" stroke="{COLOURS[number]}" stroke-width="1.5"/>')
    return parts


def _round_up(value: float) -> float:
    """Returns the next number of the form 1, 2 or 5 times a power of ten.

    >>> [_round_up(value) for value in (0, 3, 50, 1200)]
    [1, 5, 50, 2000]
    """
    step = 1
    while step * 10 < value:
        step *= 10
    return next((step * factor for factor in (1, 2, 5, 10) if step * factor >= value), step * 10)
