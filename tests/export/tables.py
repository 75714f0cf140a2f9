"""Adds up rows by method, as each reader of tables does it, and prints JSON. Usage: tables.py READER FILE"""

import json
import sys

METRICS = ["calls", "self_ns", "total_ns", "waiting_ns", "total_waiting_ns", "exceptions", "bytes", "total_bytes"]


def duckdb(source):
    import duckdb

    sums = ", ".join(f"sum({metric})::DOUBLE AS {metric}" for metric in METRICS)
    found = duckdb.sql(f"SELECT method, {sums} FROM {source} GROUP BY method")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


def pandas(frame):
    return frame.groupby("method")[METRICS].sum().reset_index().to_dict("records")


def read(reader, file):
    if reader == "duckdb-parquet":
        return duckdb(f"read_parquet('{file}')")
    if reader == "duckdb-csv":
        return duckdb(f"read_csv('{file}')")
    if reader == "pyarrow":
        import pyarrow.parquet

        frame = pyarrow.parquet.read_table(file).to_pandas()
        # A path ends with what it leads to.
        assert (frame["path"].str[-1] == frame["method"]).all()
        return pandas(frame)
    if reader == "pandas-csv":
        import pandas as library

        frame = library.read_csv(file)
        assert (frame["path"].map(json.loads).str[-1] == frame["method"]).all()
        return pandas(frame)
    raise SystemExit(f"no reader {reader}")


json.dump(read(*sys.argv[1:]), sys.stdout)
