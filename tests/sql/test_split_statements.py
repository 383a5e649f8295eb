"""Where statements end in a text with several of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.sql.split_statements import is_open, split_statements


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("a;b;c", ["a", "b"], "c"),
        (" a ; ; b ;", ["a", "b"], ""),
        ("SELECT 'x;y', \"p;q\", `m;n`;", ["SELECT 'x;y', \"p;q\", `m;n`"], ""),
        (r"SELECT 'it\'s;' ; b", [r"SELECT 'it\'s;'"], "b"),
        ("SELECT 'it''s;'; b", ["SELECT 'it''s;'"], "b"),
        ("a -- b;\nc;", ["a  \nc"], ""),
        ("a /* b; ' */ c; d", ["a   c"], "d"),
        ("SELECT /*+ BROADCAST(t) */ 1;", ["SELECT /*+ BROADCAST(t) */ 1"], ""),
        ("SELECT 1 - 2 / 3;", ["SELECT 1 - 2 / 3"], ""),
        ("-- only;\n;/* this; */", [], ""),
        ("SELECT 'open; x", [], "SELECT 'open; x"),
        (r"SELECT r'a\' ; SELECT R'b;\'; c", [r"SELECT r'a\'", r"SELECT R'b;\'"], "c"),
        ("SELECT CASE WHEN a THEN b END; c", ["SELECT CASE WHEN a THEN b END"], "c"),
        ("BEGIN a; b; END; c", ["BEGIN a; b; END"], "c"),
        (
            "a; -- x;\n begin a; BEGIN b; END; if c then d; end if; END; e",
            ["a", "begin a; BEGIN b; END; if c then d; end if; END"],
            "e",
        ),
        (
            "go: BEGIN CASE a WHEN 1 THEN b; END CASE; SET c = CASE WHEN d THEN 1 END; END go; e",
            ["go: BEGIN CASE a WHEN 1 THEN b; END CASE; SET c = CASE WHEN d THEN 1 END; END go"],
            "e",
        ),
        (
            "BEGIN WHILE a DO b; END WHILE; LOOP c; END LOOP; SELECT 'END'",
            [],
            "BEGIN WHILE a DO b; END WHILE; LOOP c; END LOOP; SELECT 'END'",
        ),
    ],
)
def test_statements_end_where_a_semicolon_ends_them(text: str, done: list[str], rest: str) -> None:
    assert split_statements(text) == (done, rest)


def test_open_ends() -> None:
    for text in ("'a", '"a', "`a", "/* a", "/*", "'a\\'", "SELECT 1 /* x", "SELECT r'a"):
        assert is_open(text), text
    for text in ("", "a", "'a'", "''", "/* a */", "-- 'a", "a;", r"r'a\'", "for"):
        assert not is_open(text), text


pieces = st.sampled_from(["a", " ", "'x;y'", "`p;q`", '"r;s"', "-", "/", "\n", "(", "1"])


@given(st.lists(st.lists(pieces, max_size=6).map("".join), max_size=5))
def test_statements_without_comments_come_back_as_they_are(parts: list[str]) -> None:
    kept = [part for part in parts if "--" not in part and "/*" not in part]
    done, rest = split_statements("".join(f"{part};" for part in kept))
    assert (done, rest) == ([part.strip() for part in kept if part.strip()], "")
