"""Damaged files of every kind: their decoders answer, or say which file is damaged, soon and with little memory."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from tests.effort import FULL
from tests.fuzz import sample
from tests.fuzz.limits import limit_memory
from tests.fuzz.mutations import mutated
from tests.races.crew import together

from lakebed.errors import LakebedError

TRIES = int(os.environ.get("LAKEBED_FUZZ", "3000" if FULL else "300"))
SLOWEST = 5.0


@pytest.mark.scales
@pytest.mark.parametrize("kind", sample.DECODERS)
def test_a_decoder_refuses_damage_and_names_the_file(kind: str, warehouse: Path) -> None:
    files = [path.read_bytes() for path in sample.files_of(warehouse, kind)]
    (wrong,) = together([(decode_damaged, (kind, files, TRIES))], timeout=600)
    assert wrong == []


def decode_damaged(kind: str, files: list[bytes], tries: int) -> list[str]:
    """Decode damaged files in a process with little memory; gives what went wrong."""
    limit_memory()
    decoder, wrong = sample.DECODERS[kind], []
    for seed in range(tries):
        dice = random.Random(seed)
        data = mutated(dice.choice(files), dice)
        began = time.monotonic()
        try:
            decoder(data, "the/damaged/file")
        except LakebedError as error:
            if "the/damaged/file" not in str(error):
                wrong.append(f"{seed}: it does not name the file: {error}")
        except BaseException as error:
            wrong.append(f"{seed}: {type(error).__name__}: {error}")
        if time.monotonic() > began + SLOWEST:
            wrong.append(f"{seed}: took {time.monotonic() - began:.1f} s")
    return wrong[:20]
