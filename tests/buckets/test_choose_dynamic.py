"""Keys in dynamic buckets: the same key, the same bucket, always; and buckets of the size that was asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.buckets import known_hashes
from lakebed.buckets.choose_dynamic import MOST_BUCKETS, Assigner, Spread, assigner_of, poured
from lakebed.buckets.known_hashes import UNKNOWN, Hashes, KnownHashes
from lakebed.options import TableOptions

INT32 = st.one_of(st.integers(-20, 20), st.integers(-(2**31), 2**31 - 1), st.sampled_from([-(2**31), 2**31 - 1, -1, 0]))
BATCHES = st.lists(st.lists(INT32, max_size=40), max_size=12)
SPREADS = st.builds(
    lambda target, most, channels, assigners: Spread(target, most, min(channels, most), min(assigners, channels, most)),
    st.integers(1, 9),
    st.sampled_from([1, 2, 3, 5, MOST_BUCKETS]),
    st.integers(1, 5),
    st.integers(1, 5),
)


def hashes(values: Any) -> Hashes:
    return np.array(values, np.int32)


def evenly(count: int, seed: int = 0) -> Hashes:
    """So many different hashes, as even as those of keys are."""
    dice = np.random.default_rng(seed)
    return dice.permutation(np.unique(dice.integers(-(2**31), 2**31, count, dtype=np.int64).astype(np.int32)))


# ------------------------------------------------------------------------------------------------------ the assigner


@given(batches=BATCHES, spread=SPREADS, restarts=st.sets(st.integers(0, 12)), partition=INT32, data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_a_key_stays_in_its_bucket(
    batches: list[list[int]], spread: Spread, restarts: set[int], partition: int, data: st.DataObject
) -> None:
    """Whatever batches come, also over restarts with another parallelism; counts are those of a plain dict."""
    model: dict[int, int] = {}
    assigner = Assigner(spread, partition_hash=partition)
    for number, batch in enumerate(batches):
        if number in restarts:
            spread = data.draw(SPREADS)
            assigner = Assigner(spread, indexes_of(model), partition_hash=partition)
        before = dict(model)
        for key, bucket in zip(batch, assigner.assign(hashes(batch)).tolist(), strict=True):
            assert model.setdefault(key, bucket) == bucket
        assert assigner.counts == Counter(model.values())
        check_new(before, model, spread, partition)
    grown = {bucket: set(found.tolist()) for bucket, found in assigner.changed().items()}
    assert all(found == {key for key, own in model.items() if own == bucket} for bucket, found in grown.items())


def indexes_of(model: dict[int, int]) -> dict[int, Hashes]:
    return {
        bucket: np.unique(hashes([k for k, own in model.items() if own == bucket])) for bucket in set(model.values())
    }


def check_new(before: dict[int, int], after: dict[int, int], spread: Spread, partition: int) -> None:
    """New keys are in buckets of their assigner; a bucket is over its target only if all others are full."""
    counts, old = Counter(after.values()), Counter(before.values())
    for key in after.keys() - before.keys():
        bucket = after[key]
        family = int(assigner_of(partition, key, spread.channels, spread.assigners)) % spread.assigners
        assert bucket % spread.assigners == family
        assert bucket < spread.max_buckets or bucket in old
        if counts[bucket] > spread.target_rows:
            own = [b for b in counts if b % spread.assigners == family]
            assert all(counts[b] >= spread.target_rows for b in own)
            assert set(range(family, min(spread.max_buckets, 100), spread.assigners)) <= set(own)
            assert counts[bucket] <= max(min(counts[b] for b in own) + 1, old[bucket])


def test_buckets_fill_one_after_the_other() -> None:
    assigner = Assigner(Spread(target_rows=3))
    assert assigner.assign(hashes([5, 1, 3, 5, 2])).tolist() == [1, 0, 0, 1, 0]
    assert assigner.assign(hashes([9, 8, 7, 1])).tolist() == [2, 1, 1, 0]
    assert assigner.counts == {0: 3, 1: 3, 2: 1}


def test_gaps_are_filled_first() -> None:
    assigner = Assigner(Spread(target_rows=2), {2: hashes([1]), 4: hashes([2, 3])})
    assert assigner.assign(hashes([10, 11, 12, 13, 14, 15])).tolist() == [2, 0, 0, 1, 1, 3]


def test_no_more_buckets_than_allowed() -> None:
    assigner = Assigner(Spread(target_rows=2, max_buckets=3))
    buckets = assigner.assign(evenly(100))
    assert Counter(buckets.tolist()) == {0: 34, 1: 33, 2: 33}
    lopsided = Assigner(Spread(target_rows=1, max_buckets=2), {0: hashes([1]), 1: hashes([2, 3, 4, 5])})
    assert lopsided.assign(hashes([10, 11, 12, 13, 14])).tolist() == [0, 0, 0, 0, 1]


def test_wishes_are_granted_where_there_is_room() -> None:
    assigner = Assigner(Spread(target_rows=3), {0: hashes([1]), 1: hashes([2, 3])})
    assert assigner.assign(hashes([2, 10, 11, 12, 13]), [0, 1, 1, 5, 0]).tolist() == [1, 1, 0, 5, 0]
    assert assigner.counts == {0: 3, 1: 3, 5: 1}


@pytest.mark.parametrize(
    "spread", [Spread(4, channels=4, assigners=2), Spread(4, 6, 3, 3), Spread(3, channels=5, assigners=4)]
)
def test_many_assigners_do_what_one_does(spread: Spread) -> None:
    """Each with its share of the index: the same keys get the same buckets, and the shares are complete."""
    partition, known, new = -77, evenly(60, 1), evenly(80, 2)
    one = Assigner(spread, partition_hash=partition)
    one.assign(known)
    index = one.changed()
    asked = np.concatenate([known[:20], new])
    wanted = dict(zip(asked.tolist(), one.assign(asked).tolist(), strict=True))
    families: dict[int, list[int]] = {}
    for number in range(spread.channels):
        families.setdefault(number % spread.assigners, []).append(number)
    sent = assigner_of(partition, asked, spread.channels, spread.assigners)
    for number in range(spread.channels):
        share = asked[sent == number]
        assigner = Assigner(spread, index, partition_hash=partition, only=number)
        found = assigner.assign(share).tolist()
        shared = [n for n in families[number % spread.assigners] if (sent == n).any()]
        if len(shared) == 1:  # else two of them fill the same buckets, and each counts without the other
            assert found == [wanted[key] for key in share.tolist()]
        old = np.isin(share, known)
        assert [b for b, is_old in zip(found, old.tolist(), strict=True) if is_old] == [
            wanted[k] for k in share[old].tolist()
        ]


def java_assigner(partition: int, key: int, channels: int, assigners: int) -> int:
    def remainder(value: int, by: int) -> int:
        return abs(value) % by * (1 if value >= 0 else -1)

    return (abs(remainder(partition, channels)) + abs(remainder(key, assigners))) % channels


@given(st.lists(st.tuples(INT32, INT32), min_size=1), st.integers(1, 300), st.integers(1, 300))
def test_keys_are_sent_where_java_sends_them(pairs: list[tuple[int, int]], channels: int, assigners: int) -> None:
    partitions, keys = zip(*pairs, strict=True)
    wanted = [java_assigner(*pair, channels, assigners) for pair in pairs]
    assert assigner_of(hashes(partitions), hashes(keys), channels, assigners).tolist() == wanted


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(0, 100))
def test_pouring_always_raises_the_lowest(levels: list[int], amount: int) -> None:
    after = list(levels)
    for _ in range(amount):
        after[after.index(min(after))] += 1
    added = poured(levels, amount)
    assert sum(added) == amount
    assert sorted(a + b for a, b in zip(levels, added, strict=True)) == sorted(after)


def test_options_of_a_table() -> None:
    def spread(parallelism: int | None = None, bytes_per_row: float | None = None, **given: str) -> Spread:
        options = {f"dynamic-bucket.{name.replace('_', '-')}": value for name, value in given.items()}
        return Spread.of(TableOptions(options), parallelism=parallelism, bytes_per_row=bytes_per_row)

    assert spread() == Spread(2_000_000, 32767, 1, 1)
    assert spread(8) == Spread(channels=8, assigners=8)
    assert spread(8, initial_buckets="3") == Spread(channels=8, assigners=3)
    assert spread(initial_buckets="3") == Spread(channels=3, assigners=3)
    assert spread(8, max_buckets="5", target_row_num="7") == Spread(7, 5, 5, 5)
    assert spread(8, assigner_parallelism="4", initial_buckets="9") == Spread(channels=4, assigners=4)
    assert spread(bytes_per_row=50, target_size="1 kb") == Spread(20)
    assert spread(bytes_per_row=50, target_size="1 kb", target_row_num="7") == Spread(7)
    assert spread(target_size="1 kb") == Spread()


# ------------------------------------------------------------------------------------------------------ known hashes


def small_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_hashes, "_CHUNK", 64)
    monkeypatch.setattr(known_hashes, "_DIRECTORY_FROM", 4)
    monkeypatch.setattr(known_hashes, "_SLICE", 50)


@given(
    parts=st.lists(st.sets(INT32, max_size=60), max_size=6), asked=st.lists(st.lists(INT32, max_size=90), max_size=8)
)
@settings(max_examples=examples(150), deadline=None)
def test_known_hashes_are_found(parts: list[set[int]], asked: list[list[int]]) -> None:
    """Before and after runs are merged and have directories; what two buckets claim is in the lower one."""
    with pytest.MonkeyPatch.context() as patch:
        small_constants(patch)
        model: dict[int, int] = {}
        for bucket, keys in enumerate(parts):
            for key in keys:
                model.setdefault(key, bucket)
        known = KnownHashes({bucket: np.sort(hashes(list(keys))) for bucket, keys in enumerate(parts)})
        for number, batch in enumerate(asked):
            assert known.find(hashes(batch)).tolist() == [model.get(key, UNKNOWN) for key in batch]
            new = sorted(set(batch) - model.keys())
            known.add(hashes(new), np.full(len(new), 100 + number, np.int16))
            model |= dict.fromkeys(new, 100 + number)
        for bucket in set(model.values()):
            own = {key for key, found in model.items() if found == bucket}
            assert own <= set(known.of_bucket(bucket).tolist())
        everything = hashes(sorted(model))
        for _ in range(3):
            assert known.find(everything).tolist() == [model[key] for key in everything.tolist()]


def test_memory_of_a_key_is_at_most_eight_bytes() -> None:
    every = np.sort(evenly(300_000))
    assigner = Assigner(Spread(target_rows=20_000))
    for batch in np.array_split(every, 7):
        assigner.assign(batch)
    loaded = Assigner(Spread(target_rows=20_000), assigner.changed())
    for one in (assigner, loaded):
        for _ in range(3):
            one.assign(every)
        assert one.nbytes <= 8 * len(every)


def test_few_rows_for_many_keys_do_not_sort_them() -> None:
    """Runs of index files are left as they are, until they were searched often enough."""
    parts: dict[int, npt.NDArray[np.int32]] = dict(enumerate(np.split(np.sort(evenly(80_000))[:64_000], 8)))
    known = KnownHashes(parts)
    known.find(parts[3][:100])
    assert len(known._runs) == 8
    assert all(run.hashes is parts[bucket] for bucket, run in enumerate(known._runs))
    for _ in range(3):
        known.find(parts[3])
    assert len(known._runs) == 1


def test_new_keys_are_copied_a_few_times_only() -> None:
    known = KnownHashes({0: np.sort(evenly(1000))})
    for number in range(200):
        known.add(hashes([number]), np.full(1, 1, np.int16))
    assert len(known._runs) < 12
