"""Runs the queries of docs/fleet.md where `lake` is, and prints what came of each as JSON, with the seconds it
took, and how many rows the table has.
Usage: fleet.py duckdb|spark DOCUMENT [DAY], where DAY is the file that the last query's rows go to."""

import json
import re
import sys
import time


def blocks(document, tag):
    return [block.strip().rstrip(";") for block in re.findall(rf"^```{tag}\n(.*?)^```", document, re.S | re.M)]


def duckdb():
    import duckdb

    connection = duckdb.connect()

    def query(sql):
        found = connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()

    def save(sql, file):
        connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")

    return connection.execute, query, save


def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def query(sql):
        found = session.sql(sql)
        return found.columns, [tuple(row) for row in found.collect()]

    def save(sql, file):
        session.sql(sql).coalesce(1).write.parquet(file)

    return session.sql, query, save


engine, path, *day = sys.argv[1:]
document = open(path).read()
prepare, query, save = {"duckdb": duckdb, "spark": spark}[engine]()
for block in blocks(document, f"sql {engine}"):
    prepare(block)
results = []
queries = blocks(document, "sql")
for sql in queries:
    started = time.monotonic()
    columns, rows = query(sql)
    seconds = time.monotonic() - started
    # Decimals are numbers too.
    plain = [[float(cell) if type(cell).__name__ == "Decimal" else cell for cell in row] for row in rows]
    results.append({"seconds": seconds, "rows": [dict(zip(columns, row)) for row in plain]})
for file in day:
    save(queries[-1], file)
_, [[count]] = query("SELECT count(*) FROM profiles")
print(json.dumps({"rows": count, "queries": results}))
