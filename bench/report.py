"""Tables of what was measured, as text; ratios are against pyarrow in the same run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

REFERENCE = "pyarrow"
TITLES = {"append": "append", "scan": "full scan", "sorted": "day by day", "shuffled": "shuffled"}


def summarise(measurements: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best of the repeats for each task, order and system."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in measurements:
        groups.setdefault((one["task"], one["order"], one["system"]), []).append(one)
    rows = []
    for (task, order, system), repeats in groups.items():
        reference = groups.get((task, order, REFERENCE))
        best = min(repeats, key=lambda one: one["seconds"])
        base = min(one["seconds"] for one in reference) if reference else None
        rows.append(
            {
                "task": task,
                "order": order,
                "system": system,
                "seconds": best["seconds"],
                "ratio": best["seconds"] / base if base else None,
                "cpu_seconds": min(one["cpu_seconds"] for one in repeats),
                "others_cpu_seconds": best["others_cpu_seconds"],
                "extra_bytes": min(one["peak_bytes"] - one["base_bytes"] for one in repeats),
                "files": repeats[-1]["files"],
                "bytes": repeats[-1]["bytes"],
                "rows": repeats[-1]["rows"],
            }
        )
    return rows


def big_tables(summary: Sequence[dict[str, Any]]) -> str:
    """A table per task and order."""
    parts = []
    for task, order in dict.fromkeys((row["task"], row["order"]) for row in summary):
        rows = [row for row in summary if (row["task"], row["order"]) == (task, order)]
        head = ["system", "ratio", "seconds", "CPU s", "extra memory", "files", "size on disk"]
        body = [
            [
                row["system"],
                "" if row["ratio"] is None else f"{row['ratio']:.2f}",
                f"{row['seconds']:.2f}",
                f"{row['cpu_seconds']:.2f}",
                f"{row['extra_bytes'] / 1e6:.0f} MB",
                str(row["files"]),
                f"{row['bytes'] / 1e6:.0f} MB",
            ]
            for row in rows
        ]
        parts.append(f"{TITLES[task]}, {rows[0]['rows']:,} rows, {TITLES[order]}\n\n{markdown(head, body)}")
    return "\n\n".join(parts)


def small_table(small: Sequence[dict[str, Any]]) -> str:
    """Latency of one-row appends and of scans, by the number of commits before."""
    if not small:
        return ""
    counts = list(small[0]["scan_ms"])
    head = ["system, ms", *(f"commit {count}" for count in counts)]
    body = []
    for one in small:
        body.append([f"{one['system']} append", *(f"{_around(one['append_ms'], int(count)):.1f}" for count in counts)])
        body.append([f"{one['system']} scan", *(f"{one['scan_ms'][count]:.1f}" for count in counts)])
    return f"one-row appends and scans of the whole small table\n\n{markdown(head, body)}"


def _around(times: Sequence[float], count: int) -> float:
    """The median of the ten commits up to this one; the very first stands alone, it warms up."""
    near = sorted(times[max(0, count - 10) : count]) if count > 1 else times[:1]
    return near[len(near) // 2]


def markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table that reads well as it is, too: the first column to the left, numbers to the right."""
    lines = [list(head), *map(list, body)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = [_line(line, widths) for line in lines]
    rule = "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""])
    return "\n".join([text[0], rule, *text[1:]])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = cells
    right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
    return "| " + " | ".join([first.ljust(widths[0]), *right]) + " |"
