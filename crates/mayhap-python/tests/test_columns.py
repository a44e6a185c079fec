"""Whole columns: every source gives the same keys and the same answers as one key at a time."""

from __future__ import annotations

import array
import random

import pymayhap
import pytest
from conftest import ATOMIC, GROWING, NULLS, TYPES, arrow_type, found, kept, nulls_last, random_blocks
from pymayhap import Blocked

numpy = pytest.importorskip("numpy")
ROWS = 5000
NUMBERS = [random.Random(1).randrange(-(2**63), 2**63) for _ in range(ROWS)]
TEXTS = [f"clé {i % 3000} " + "x" * (i % 40) for i in range(ROWS)]


def expected(keys: list) -> tuple[list[bool], Blocked]:
    seen = Blocked(10_000)
    return [seen.add(pymayhap.NULL if key is None else key) for key in keys], seen


def plain(mask) -> list[bool]:
    """A mask of any library as a list."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(mask, name):
            return getattr(mask, name)()
    return mask


def check(column, keys: list, kind: str | None = None) -> None:
    """Every way to give a column to a filter does as one key at a time."""
    mask, model = expected(keys)
    seen = Blocked(10_000)
    new, found = seen.add_many(column), seen.contains_many(column)
    assert plain(new) == mask and seen == model
    assert plain(found) == [True] * len(keys)
    if kind:
        assert type(found).__module__.split(".")[0] == kind
    again = Blocked(10_000)
    assert again.update(column) == sum(mask) and again == model
    for threads in (2, 0):
        threaded = Blocked(10_000)
        # Of equal keys one is new, whichever it is; a false positive depends on the order.
        assert abs(threaded.update(column, threads=threads) - sum(mask)) <= 20
        assert threaded == model
        assert plain(model.contains_many(column, threads=threads)) == plain(found)


@pytest.mark.parametrize("keys", [NUMBERS, TEXTS, [text.encode() for text in TEXTS], NUMBERS[:10] + TEXTS[:10]])
def test_lists_tuples_and_iterators(keys):
    check(keys, keys)
    check(tuple(keys), keys)
    mask, model = expected(keys)
    seen = Blocked(10_000)
    assert seen.add_many(iter(keys)) == mask and seen == model
    assert seen.contains_many(key for key in keys) == [True] * len(keys)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "<u2", ">u8", "bool"])
def test_numpy_integers_of_any_width_and_order(dtype):
    column = numpy.array(NUMBERS, dtype="i8").astype(dtype)
    check(column, column.tolist(), "numpy")
    check(column[::3], column[::3].tolist())
    check(column[::-1], column[::-1].tolist())
    check(column[:0], [])


def test_numpy_texts():
    check(numpy.array(TEXTS), TEXTS, "numpy")
    check(numpy.array([text.encode() for text in TEXTS]), TEXTS)
    check(numpy.array(TEXTS, dtype=object), TEXTS)
    check(numpy.array(TEXTS)[::2], TEXTS[::2])
    check(numpy.array(["", "a", ""]), ["", "a", ""])
    if hasattr(numpy.dtypes, "StringDType"):
        check(numpy.array(TEXTS, dtype=numpy.dtypes.StringDType()), TEXTS)


def test_arrays_that_are_not_columns_of_keys_are_refused():
    seen = Blocked(1000)
    with pytest.raises(TypeError, match="float64"):
        seen.update(numpy.zeros(3))
    with pytest.raises(TypeError, match="datetime64"):
        seen.update(numpy.zeros(3, dtype="M8[s]"))
    with pytest.raises(ValueError, match="2 dimensions"):
        seen.update(numpy.zeros((3, 3), dtype="i8"))


def test_arrays_of_the_standard_library():
    column = array.array("h", range(-500, 500))
    assert Blocked(1000).update(column) == Blocked(1000).update(list(column))
    assert Blocked(1000).update(memoryview(column)) == Blocked(1000).update(list(column))


@pytest.mark.parametrize("rows", range(20))
def test_masks_of_pyarrow_have_a_bit_per_row(rows):
    pa = pytest.importorskip("pyarrow")
    keys = [f"{i}" for i in range(rows)]
    seen = Blocked(1000, 1e-6)
    seen.update(keys[::3])
    mask = seen.contains_many(pa.array(keys, type=pa.string()))
    mask.validate(full=True)
    assert mask.to_pylist() == [i % 3 == 0 for i in range(rows)] and mask.null_count == 0


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    for type_ in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()):
        check(pa.array([text.encode() for text in TEXTS]).cast(pa.binary()).cast(type_), TEXTS, "pyarrow")
    with_nulls = [None if i % 7 == 0 else text for i, text in enumerate(TEXTS)]
    check(pa.array(with_nulls), with_nulls)
    check(pa.array(with_nulls).slice(13, 400), with_nulls[13:413])
    check(pa.array(with_nulls).dictionary_encode(), with_nulls)
    check(pa.array(with_nulls).dictionary_encode().slice(5, 100), with_nulls[5:105])
    check(pa.chunked_array([TEXTS[:100], [], TEXTS[100:]]), TEXTS)
    check(pa.array([b"four", b"byte", None], type=pa.binary(4)), [b"four", b"byte", None])
    check(pa.array([True, None, False]), [True, None, False])
    check(pa.array([None, None]), [None, None])
    check(pa.array([], type=pa.string()), [])
    for bits in (8, 16, 32, 64):
        for sign in ("", "u"):
            column = numpy.array(NUMBERS).astype(f"{sign}int{bits}")
            check(pa.array(column), column.tolist())
            check(pa.array(column).slice(7, 1000), column.tolist()[7:1007])
    nullable = [None if i % 5 == 0 else number for i, number in enumerate(NUMBERS)]
    check(pa.array(nullable), nullable)
    check(pa.table({"key": TEXTS}), TEXTS)
    check(pa.table({"key": TEXTS}).slice(10, 50), TEXTS[10:60])
    check(pa.record_batch({"key": pa.array(with_nulls)}).slice(3, 50), with_nulls[3:53])
    with pytest.raises(ValueError, match="the table has 2 columns; expected 1"):
        Blocked(10).update(pa.table({"a": [1], "b": [2]}))
    with pytest.raises(TypeError, match="Arrow format"):
        Blocked(10).update(pa.array([1.5]))


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("type_", TYPES)
def test_nulls_are_kept_or_one_key_or_dropped_over_all_columns_of_a_filter(type_, nulls):
    pa = pytest.importorskip("pyarrow")
    blocks = random_blocks(1, type_)
    columns = [pa.array(block, type=arrow_type(type_)) for block in blocks]
    keys = [key for block in blocks for key in block]
    seen, rest = Blocked(1000, 1e-6), []
    for column in columns:
        rest += column.filter(seen.add_many(column, nulls=nulls)).to_pylist()
    assert nulls_last(rest) == kept(keys, nulls)
    threaded = Blocked(1000, 1e-6)
    rest = pa.chunked_array(columns).filter(threaded.add_many(pa.chunked_array(columns), nulls=nulls, threads=4))
    assert nulls_last(rest.to_pylist()) == kept(keys, nulls) and threaded == seen
    # The null is a key: files and unions have it.
    for filter in (seen, Blocked.from_bytes(seen.to_bytes()), Blocked(1000, 1e-6) | seen):
        assert (pymayhap.NULL in filter) == (nulls == "one")
        assert filter.contains_many(pa.chunked_array(columns), nulls=nulls).to_pylist() == found(keys, keys, nulls)
        assert filter.contains_many(columns[-1]).to_pylist() == [nulls == "one"] * len(columns[-1])
    without = Blocked(1000, 1e-6)
    assert without.update(columns[0], nulls=nulls) == len(set(blocks[0]))
    assert without.update(*columns, nulls=nulls) == len(kept(keys, "drop")) - len(set(blocks[0])) + (nulls == "one")
    with pytest.raises(ValueError, match='nulls is "two"; expected "keep", "one" or "drop"'):
        seen.update(columns[0], nulls="two")


def test_the_key_of_nulls_never_changes():
    assert pymayhap.NULL == b"\xff\xfemayhap: null\xfe\xff"
    pa = pytest.importorskip("pyarrow")
    fixed = pymayhap.Fuse(pa.array(["a", None]), rate=1e-6)
    assert pymayhap.NULL in fixed and fixed.contains_many(pa.array([None, "b"])).to_pylist() == [True, False]
    counting = pymayhap.Spectral(1000)
    counting.update(pa.array(["a", None, None]))
    assert counting.count(pymayhap.NULL) == 2


def test_a_stream_is_read_column_by_column():
    pa = pytest.importorskip("pyarrow")
    schema, rows = pa.schema({"key": pa.int64()}), 100_000
    most = 0

    def batches():
        nonlocal most
        for first in range(0, 100 * rows, rows):
            most = max(most, pa.total_allocated_bytes() - before)
            # A stream may ask the filter it fills.
            assert first < 2 * rows or 0 in seen
            yield pa.record_batch({"key": pa.array(range(first, first + 10), type=pa.int64()).take([0] * rows)})

    for threads in (1, 2):
        before, seen = pa.total_allocated_bytes(), Blocked(1000, 1e-6)
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        assert seen.update(reader, threads=threads) == 100
        assert most <= 10 * 8 * rows


def test_parts_keep_rows_of_one_key_together():
    pa = pytest.importorskip("pyarrow")
    numbers, texts = ([None, 3, 7, None, 3, 2**60] * 50, [None, "3", "7", None, "3", "x"] * 50)
    for keys, types in ((numbers, [pa.int64(), pa.uint64()]), (texts, [pa.string(), pa.large_string(), pa.string_view()])):
        columns = [pa.array(keys, type=type_) for type_ in types]
        columns += [columns[0].dictionary_encode(), pa.chunked_array([keys[:70], keys[70:]])]
        first, *others = ([*pymayhap._pymayhap.parts(column, 1000)] for column in columns)
        assert all(other == first for other in others)
        assert len({(key, part) for key, part in zip(keys, first)}) == 4 and max(first) < 1000
    spread = pymayhap._pymayhap.parts(pa.array(range(100_000)), 7)
    assert max(abs((spread == part).sum() * 7 / 100_000 - 1) for part in range(7)) < 0.03


def test_a_mask_filters_what_it_is_made_of():
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    mask, _ = expected(TEXTS)
    distinct = [text for text, new in zip(TEXTS, mask) if new]
    table = pa.table({"url": TEXTS})
    assert table.filter(Blocked(10_000).add_many(table["url"]))["url"].to_pylist() == distinct
    frame = pd.DataFrame({"url": TEXTS})
    assert frame[Blocked(10_000).add_many(frame["url"])]["url"].tolist() == distinct
    frame = pl.DataFrame({"url": TEXTS})
    assert frame.filter(Blocked(10_000).add_many(frame["url"]))["url"].to_list() == distinct


def test_polars():
    pl = pytest.importorskip("polars")
    with_nulls = [None if i % 7 == 0 else text for i, text in enumerate(TEXTS)]
    check(pl.Series("url", with_nulls), with_nulls, "polars")
    check(pl.Series("n", NUMBERS), NUMBERS)
    check(pl.Series("url", TEXTS, dtype=pl.Categorical), TEXTS)
    check(pl.Series("url", TEXTS).slice(100, 200), TEXTS[100:300])
    check(pl.DataFrame({"url": TEXTS}), TEXTS)


def test_a_polars_expression_keeps_what_is_new():
    pl = pytest.importorskip("polars")
    import pymayhap.polars  # noqa: F401

    mask, model = expected(TEXTS)
    seen = Blocked(10_000)
    frame = pl.DataFrame({"url": TEXTS}).lazy()
    kept = frame.filter(pl.col("url").mh.is_new(seen)).collect()["url"].to_list()
    assert kept == [text for text, new in zip(TEXTS, mask) if new] and seen == model
    assert frame.filter(~pl.col("url").mh.is_in(seen)).collect().height == 0


@pytest.mark.parametrize("nulls", NULLS)
def test_a_polars_expression_keeps_rows_without_a_key_as_it_is_told(nulls):
    pl = pytest.importorskip("polars")
    import pymayhap.polars  # noqa: F401

    keys = [key for block in random_blocks(2, "int64") for key in block]
    frame, seen = pl.DataFrame({"k": keys}), Blocked(1000, 1e-6)
    rest = frame.filter(pl.col("k").mh.is_new(seen, nulls=nulls))["k"].to_list()
    assert nulls_last(rest) == kept(keys, nulls)
    if nulls == "one":
        assert nulls_last(frame.unique()["k"].to_list()) == nulls_last(rest)
    assert frame.select(pl.col("k").mh.is_in(seen, nulls=nulls))["k"].to_list() == found(keys, keys, nulls)


def test_pandas():
    pd = pytest.importorskip("pandas")
    check(pd.Series(TEXTS), TEXTS, "numpy")
    check(pd.Series(NUMBERS), NUMBERS)
    check(pd.Series(TEXTS, dtype="category"), TEXTS)
    check(pd.Series(TEXTS, dtype="string"), TEXTS)
    keys = [key for block in random_blocks(3, "int64") for key in block]
    frame = pd.DataFrame({"k": pd.array(keys, dtype="Int64")})
    assert frame[Blocked(1000, 1e-6).add_many(frame["k"])].equals(frame.drop_duplicates())
    frame = pd.DataFrame({"url": ["/a", None, "/b", None, "/a"]})
    assert frame[Blocked(1000).add_many(frame["url"])].equals(frame.drop_duplicates())


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    check_relation = duckdb.sql("select 'key ' || (range % 700) as url from range(2000)")
    keys = [f"key {i % 700}" for i in range(2000)]
    mask, model = expected(keys)
    seen = Blocked(10_000)
    assert seen.update(check_relation) == sum(mask) and seen == model


@pytest.mark.parametrize("cls", GROWING + ATOMIC)
def test_every_kind_takes_columns_as_it_takes_keys(cls):
    one_by_one, column = cls(10_000), cls(10_000)
    mask = [one_by_one.add(key) for key in NUMBERS]
    assert column.add_many(numpy.array(NUMBERS)).tolist() == mask and column == one_by_one
    texts, model = cls(10_000), cls(10_000)
    assert texts.add_many(TEXTS) == [model.add(text) for text in TEXTS] and texts == model
    threaded = cls(10_000)
    threaded.update(numpy.array(NUMBERS), threads=4)
    assert threaded == one_by_one


def test_a_generator_may_ask_the_filter_it_fills():
    seen = Blocked(1000)

    def keys():
        for key in ["a", "b", "a", "c"]:
            assert (key in seen) == (key == "a" and "b" in seen)
            yield key

    assert seen.update(keys()) == 3


def test_a_capsule_is_used_once_and_released():
    pa = pytest.importorskip("pyarrow")
    capsules = pa.array(["a"]).__arrow_c_array__()

    class Twice:
        def __arrow_c_array__(self, requested_schema=None):
            return capsules

    seen = Blocked(1000)
    assert seen.update(Twice()) == 1
    with pytest.raises(ValueError, match="used before"):
        seen.update(Twice())
    before = pa.total_allocated_bytes()
    for _ in range(200):
        seen.contains_many(pa.array(TEXTS[:1000]))
        seen.contains_many(pa.chunked_array([TEXTS[:1000]]))
    assert pa.total_allocated_bytes() <= before + 1_000_000


def test_a_list_of_any_keys_is_its_keys_one_by_one():
    class Text(str): ...

    usual: list = [f"key {i}" for i in range(1500)]
    odd = [b"raw", 7, 2**63, -1, True, "é", Text("derived"), bytearray(b"array")]
    for place in (0, 3, 1023, 1024, 1499):
        for key in odd:
            keys = [*usual[:place], key, *usual[place:]]
            model = Blocked(2000, 1e-6)
            expected = [model.add(each) for each in keys]
            seen = Blocked(2000, 1e-6)
            assert seen.add_many(keys) == expected and seen == model
            assert seen.contains_many(tuple(keys)) == [True] * len(keys)
    numbers = [*range(1030), 2**64 - 1, *range(1030)]
    seen = Blocked(2000, 1e-6)
    assert seen.update(numbers) == 1031 and -1 in seen


def test_a_key_that_changes_the_list_it_is_in_harms_nothing():
    class Clears:
        def __index__(self) -> int:
            keys.clear()
            return 5

    keys: list = [*(str(i) * 20 for i in range(500)), Clears(), *(str(i) * 20 for i in range(500, 1500))]
    expected = keys[:1024]
    seen = Blocked(2000, 1e-6)
    seen.update(keys)
    assert keys == [] and all(key in seen for key in expected if isinstance(key, str)) and 5 in seen


def test_a_lone_surrogate_in_a_list_is_refused():
    seen = Blocked(2000)
    for keys in (["a", "\ud800"], ["\ud800"], [b"a", "\ud800", "b"]):
        with pytest.raises(UnicodeEncodeError):
            seen.update(keys)
