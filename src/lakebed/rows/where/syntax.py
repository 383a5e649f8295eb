"""From the text of a condition to sqlglot's syntax, and from a piece of syntax back to its place in the text.

Strings and numbers are read as Spark 4 does, which is not always how sqlglot does.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from lakebed.errors import ExpressionError

_DIALECT: Final = Spark()
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def parse(text: str) -> exp.Expr:
    """The syntax of a text that is one expression."""
    try:
        found = _DIALECT.parser().parse_into(exp.Condition, _tokens(text), text)
    except ParseError as problem:
        first = problem.errors[0]
        word = first.get("highlight") or ""
        raise ExpressionError(
            f"cannot parse the condition: unexpected {word!r}" + _caret(text, first["line"], first["col"] - len(word))
        ) from None
    except TokenError:
        raise ExpressionError(
            f"cannot parse the condition: a quote or comment is not closed, or an X'..' is not hexadecimal\n  {text}"
        ) from None
    if len(found) != 1 or found[0] is None:
        raise ExpressionError(f"a condition must be one expression, like \"id = 3 AND name = 'a'\", not {text!r}")
    condition: exp.Expr = found[0]
    return condition


def sql(syntax: exp.Expr) -> str:
    """A piece of syntax as Spark SQL, for messages."""
    return syntax.sql(dialect=_DIALECT, comments=False)


def of(kind: type[exp.Expr], this: exp.Expr, expression: exp.Expr) -> exp.Expr:
    """Two operands under another operator."""
    return kind(this=this.copy(), expression=expression.copy())


def caret_at(text: str, start: int) -> str:
    """The line of the text that holds a position, and a mark under it."""
    before = text[:start]
    return _caret(text, before.count("\n") + 1, start - before.rfind("\n") - 1)


def _caret(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    shown = lines[min(line, len(lines)) - 1]
    return f"\n  {shown}\n  {' ' * max(0, min(column, len(shown)))}^"


def _tokens(text: str) -> list[Token]:
    """Return sqlglot's tokens, with strings and numbers read as in Spark 4.

    sqlglot keeps other escapes, splits ``'it''s'`` in two, and turns ``1.5BD`` into a cast.
    """
    tokens: list[Token] = []
    for token in _DIALECT.tokenize(text):
        before = tokens[-1] if tokens else None
        written = text[token.start : token.end + 1]
        if before is not None and token.start == before.start:
            continue  # the cast that represents a suffix
        if token.token_type == TokenType.HEX_STRING and written[0] == "0":
            raise ExpressionError(
                f"{written} is not a number in Spark SQL; bytes are written X'1F'" + caret_at(text, token.start)
            )
        if token.token_type == TokenType.NUMBER:
            tokens.append(_with_text(token, written))
        elif token.token_type == TokenType.STRING:
            body, quote = _unescape(written[1:-1]), written[0]
            doubled = before is not None and before.token_type == TokenType.STRING and before.end + 1 == token.start
            if before is not None and doubled and text[before.end] == quote:
                tokens[-1] = _with_text(before, before.text + quote + body, end=token.end)
            else:
                tokens.append(_with_text(token, body))
        else:
            tokens.append(token)
    return tokens


def _with_text(token: Token, text: str, end: int | None = None) -> Token:
    last = token.end if end is None else end
    return Token(token.token_type, text, token.line, token.col, token.start, last, token.comments)


def _unescape(body: str) -> str:
    def meaning(match: re.Match[str]) -> str:
        octal, short, long, char = match.groups()
        if char is not None:
            return _ESCAPED.get(char, char)
        return chr(int(octal, 8)) if octal else chr(int(short or long, 16))

    return _ESCAPE.sub(meaning, body)
