"""Types that many responses share: errors, pages, columns."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

Verdict = Literal["ok", "warning", "problem", "unknown"]


class Model(BaseModel):
    """A response with exactly its declared fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Failure(Model):
    """An error: a code for programs, a sentence for people."""

    error: str = Field(examples=["not_found"])
    message: str = Field(examples=["unknown table 'ordres' in database shop; did you mean 'orders'?"])


class Listing(Model, Generic[T]):
    """A list without pages."""

    items: list[T]


class Page(Model, Generic[T]):
    """A page of a list; the next page starts at ``next_offset``."""

    items: list[T]
    total: int = Field(ge=0, examples=[1])
    offset: int = Field(ge=0, examples=[0])
    limit: int = Field(ge=1, examples=[100])
    next_offset: int | None = Field(examples=[None])


class HealthSummary(Model):
    """The worst verdict on a table, and the reasons for it."""

    verdict: Verdict = Field(examples=["warning"])
    reasons: list[str] = Field(
        examples=[["12 of 14 files are small enough to be merged; a compaction would merge them into about 1 file."]]
    )


class Column(Model):
    """A column of a schema."""

    id: int = Field(examples=[0])
    name: str = Field(examples=["id"])
    type: str = Field(examples=["BIGINT NOT NULL"])
    nullable: bool
    default: str | None
    comment: str | None


class ResultColumn(Model):
    """A column of returned rows."""

    name: str = Field(examples=["id"])
    type: str = Field(examples=["BIGINT NOT NULL"])


class SchemaChange(Model):
    """One difference between two schemas; null where a schema does not have it."""

    what: str = Field(examples=["column"])
    name: str = Field(examples=["note"])
    before: str | None
    after: str | None = Field(examples=["STRING"])


Row = list[Any]
"""The values of a row, in the order of its columns."""
