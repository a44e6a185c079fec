# Cuts the Bloom filters out of Parquet files that pyarrow writes. See README.md one folder up.
import pyarrow as pa
import pyarrow.parquet as pq

GOLDEN = 0x9E3779B97F4A7C15


def signed(value, bits):
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


COLUMNS = {
    "ints": (pa.int32(), lambda i: signed(i * (GOLDEN >> 32), 32)),
    "longs": (pa.int64(), lambda i: signed(i * GOLDEN, 64)),
    "doubles": (pa.float64(), lambda i: i / 7.0),
    "texts": (pa.string(), lambda i: f"clé-{i}"),
}

for keys, rate in [(100, 0.1), (1000, 0.01)]:
    columns = {
        kind: pa.array([key(i) for i in range(keys)], column_type)
        for kind, (column_type, key) in COLUMNS.items()
    }
    path = "column.parquet"
    options = {kind: {"ndv": keys, "fpp": rate} for kind in columns}
    pq.write_table(pa.table(columns), path, bloom_filter_options=options)
    chunks = pq.ParquetFile(path).metadata.row_group(0)
    whole = open(path, "rb").read()
    for index, kind in enumerate(columns):
        chunk = chunks.column(index)
        start = chunk.bloom_filter_offset
        with open(f"pyarrow-{kind}-{keys}.bin", "wb") as file:
            file.write(whole[start : start + chunk.bloom_filter_length])
