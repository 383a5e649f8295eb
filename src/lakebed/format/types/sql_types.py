"""Parses column types, columns and literals from SQL text, in the syntax of Spark or of Paimon (Flink).

Types mean the same as in a schema file of Paimon: ``TIMESTAMP`` has no time zone and precision 6. Text with two
contradicting meanings is refused: ``BINARY`` without a length is one byte in Paimon and any number of bytes in Spark.
Text that Spark wrote itself has the meaning of Spark. Every error shows the place with a caret, and what was expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lakebed.errors import LakebedError, SchemaError, UnsupportedError, unknown_name
from lakebed.format.types.data_types import (
    UNSUPPORTED_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    not_null,
    parse_type,
)

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<quoted>`(?:[^`]|``)*`)
    | (?P<string>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<word>\w+)
    | (?P<symbol>[<>(),:])
    | (?P<end>\Z)
    | (?P<bad>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_SUFFIXED: Final = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?<![\w.])((?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d+)?)(?:BD|[YSLFD])\b""",
    re.IGNORECASE,
)
_SPELLINGS: Final = {
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}
_SPARK_SPELLINGS: Final = {**_SPELLINGS, "BINARY": "BYTES", "TIMESTAMP": "TIMESTAMP_LTZ"}
_NEED_LENGTH: Final = {"CHAR": "STRING", "VARCHAR": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES"}
_WITH_PARAMS: Final = frozenset({*_NEED_LENGTH, "DECIMAL", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"})
_KNOWN: Final = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES"}
    | {"ARRAY", "MAP", "ROW", "STRUCT"}
    | _WITH_PARAMS
    | _SPELLINGS.keys()
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the text, with the place where it stands."""

    kind: str
    text: str
    at: int


def parse_data_type(text: str, *, spark: bool = False) -> DataType:
    """Returns the type that a text means; with ``spark``, the type that it means to Spark.

    >>> str(parse_data_type("struct<a: long, b: array<timestamp_ltz(3)>>"))
    'ROW<a BIGINT, b ARRAY<TIMESTAMP(3) WITH LOCAL TIME ZONE>>'
    >>> str(parse_data_type("map<timestamp, binary>", spark=True))
    'MAP<TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL, BYTES>'
    """
    reader = Reader(text, "the type", spark=spark)
    data_type = reader.nullable_type()
    reader.expect_end()
    return data_type


def parse_literal(text: str) -> str | None:
    """Returns the value of a SQL literal as text without quotes; None for NULL.

    >>> parse_literal("'it''s'"), parse_literal("-1.5"), parse_literal("DATE '2020-01-01'"), parse_literal("NULL")
    ("it's", '-1.5', '2020-01-01', None)
    """
    reader = Reader(without_number_suffixes(text), "the default")
    value = reader.literal()
    reader.expect_end()
    return value


def without_number_suffixes(text: str) -> str:
    """Returns literals without what Spark's SQL writes behind a number to give it a type.

    The type of a default is that of its column.

    >>> without_number_suffixes("map(1L, 99.5D, '1L')")
    "map(1, 99.5, '1L')"
    """
    return _SUFFIXED.sub(lambda found: found[1] or found[2], text)


class Reader:
    """A recursive-descent parser over one text; ``what`` names the text in errors."""

    def __init__(self, text: str, what: str, *, spark: bool = False) -> None:
        self.text = text
        self._what = what
        self._spellings = _SPARK_SPELLINGS if spark else _SPELLINGS
        self._tokens = [
            Token(str(match.lastgroup), match[str(match.lastgroup)], match.start(str(match.lastgroup)))
            for match in _TOKEN.finditer(text)
        ]
        self._next = 0

    # -------------------------------------------------------------------------------------------- tokens

    @property
    def token(self) -> Token:
        """The next token, not yet taken."""
        return self._tokens[self._next]

    def take(self) -> Token:
        """Returns the next token; the reader moves on. The last token is the end of the text, and stays."""
        token = self.token
        if token.kind != "end":
            self._next += 1
        return token

    def is_word(self, *words: str) -> bool:
        """Returns whether the next token is one of these words, in any case."""
        return self.token.kind == "word" and self.token.text.upper() in words

    def accept_word(self, word: str) -> bool:
        """Take a word if it is next."""
        found = self.is_word(word)
        if found:
            self.take()
        return found

    def expect_word(self, word: str) -> None:
        if not self.accept_word(word):
            raise self.error(f"expected {word}")

    def accept_symbol(self, symbol: str) -> bool:
        """Take a symbol if it is next."""
        found = self.token.kind == "symbol" and self.token.text == symbol
        if found:
            self.take()
        return found

    def expect_symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            raise self.error(f"expected {symbol!r}")

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise self.error("expected the end")

    def error(self, problem: str, token: Token | None = None, *, found: bool = True) -> SchemaError:
        """Returns an error that shows where the reader stands, or where a token stood."""
        return SchemaError(self._message(problem, token or self.token, found))

    def _message(self, problem: str, token: Token, found: bool) -> str:
        seen = f", found {token.text!r}" if token.kind != "end" else ", found the end of the text"
        start = self.text.rfind("\n", 0, token.at) + 1
        end = self.text.find("\n", token.at)
        line = self.text[start : end if end >= 0 else len(self.text)]
        caret = " " * (token.at - start) + "^"
        return f"cannot read {self._what} at character {token.at + 1}: {problem}{seen if found else ''}\n  {line}\n  {caret}"

    # --------------------------------------------------------------------------------- names and literals

    def name(self) -> str:
        """Returns a name: a plain word, or anything in backquotes."""
        token = self.token
        if token.kind == "word":
            return self.take().text
        if token.kind == "quoted":
            return self.take().text[1:-1].replace("``", "`")
        raise self.error("expected a column name (in `backquotes` if it is not a plain word)")

    def string(self) -> str:
        """Returns a string in single or double quotes; a doubled quote stands for one."""
        if self.token.kind != "string":
            raise self.error("expected a string in quotes")
        text = self.take().text
        return text[1:-1].replace(text[0] * 2, text[0])

    def literal(self) -> str | None:
        """Returns the value of a literal as text, None for NULL."""
        token = self.token
        if token.kind == "string":
            return self.string()
        if token.kind == "number":
            return self.take().text
        if self.is_word("TRUE", "FALSE"):
            return self.take().text.lower()
        if self.accept_word("NULL"):
            return None
        if self.is_word("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"):
            self.take()
            return self.string()
        raise self.error("expected a literal: a string in quotes, a number, TRUE, FALSE or NULL")

    # ---------------------------------------------------------------------------------------------- types

    def nullable_type(self) -> DataType:
        """Returns a type and, after it, NOT NULL or NULL or nothing."""
        data_type = self.data_type()
        if self.accept_word("NOT"):
            self.expect_word("NULL")
            return not_null(data_type)
        self.accept_word("NULL")
        return data_type

    def data_type(self) -> DataType:
        """Returns a type without its nullability."""
        token = self.token
        if token.kind != "word":
            raise self.error("expected a type")
        self.take()
        match token.text.upper():
            case "ARRAY":
                self.expect_symbol("<")
                element = self.nullable_type()
                self.expect_symbol(">")
                return Array(element)
            case "MAP":
                self.expect_symbol("<")
                key = self.nullable_type()
                self.expect_symbol(",")
                value = self.nullable_type()
                self.expect_symbol(">")
                return Map(not_null(key), value)
            case "ROW" | "STRUCT":
                return self._row()
            case _:
                return self._atomic(token)

    def _row(self) -> Row:
        close = ")" if self.accept_symbol("(") else ">"
        if close == ">":
            self.expect_symbol("<")
        fields = [self._row_field()]
        while self.accept_symbol(","):
            fields.append(self._row_field())
        self.expect_symbol(close)
        return Row(tuple(fields))

    def _row_field(self) -> Field:
        name = self.name()
        self.accept_symbol(":")
        data_type = self.nullable_type()
        described = self.accept_word("COMMENT") or self.token.kind == "string"
        return Field(0, name, data_type, self.string() if described else None)

    def _atomic(self, token: Token) -> Atomic:
        root = self._spellings.get(token.text.upper(), token.text.upper())
        if root not in _KNOWN | UNSUPPORTED_ROOTS:
            raise self.error(unknown_name("type", token.text.upper(), sorted(_KNOWN)), token, found=False)
        if root == "DOUBLE":
            self.accept_word("PRECISION")
        params = self._params() if self.accept_symbol("(") else ""
        if root in _NEED_LENGTH and not params:
            raise self.error(
                f"{root} needs a length, {root}(n); for any length use {_NEED_LENGTH[root]}", token, found=False
            )
        if root == "TIMESTAMP" and self.accept_word("WITH"):
            root = "TIMESTAMP_LTZ"
            self._expect_words("LOCAL", "TIME", "ZONE")
        elif root in {"TIMESTAMP", "TIME"} and self.accept_word("WITHOUT"):
            self._expect_words("TIME", "ZONE")
        return self._checked(root + params, token)

    def _expect_words(self, *words: str) -> None:
        for word in words:
            self.expect_word(word)

    def _params(self) -> str:
        numbers = []
        while True:
            if self.token.kind != "number" or not self.token.text.isdecimal():
                raise self.error("expected a number")
            numbers.append(self.take().text)
            if not self.accept_symbol(","):
                break
        self.expect_symbol(")")
        return f"({', '.join(numbers)})"

    def _checked(self, text: str, token: Token) -> Atomic:
        """Returns the type of a text in Paimon's spelling; its own errors get the place added."""
        try:
            parsed = parse_type(text)
        except LakebedError as error:
            kind = UnsupportedError if isinstance(error, UnsupportedError) else SchemaError
            raise kind(self._message(str(error), token, found=False)) from None
        assert isinstance(parsed, Atomic)  # noqa: S101 - a string is always an atomic type
        return parsed
