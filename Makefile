# `make demo` shows the main job, `make test` runs the fast checks, `make check` all. Each target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests bench examples tools
# Each of these has Spark sessions, a browser or other processes of its own, so each has a target of its own.
ON_SPARK := tests/spark tests/datasource tests/sql tests/spark_cluster tests/cli/commands/test_sql_on_spark.py
STREAMS := tests/datasource/test_stream_source.py tests/datasource/test_stream_sink.py
# Kills drivers and workers of streams again and again.
KILLS := tests/datasource/test_stream_kills.py
# Measures time, so nothing else may run beside it.
COSTS := tests/sql/test_cost.py
SMOKE := tests/smoke
STORAGE := tests/storage_servers
# Suites of tables that run on MinIO as well as on the local disk.
ON_STORAGE = $(shell grep -v '^\#' tests/on_storage.txt)
APART := $(ON_SPARK) $(SMOKE) $(STORAGE) tests/interop tests/dashboard
# What make check runs, in this order; the workflow of the repository runs the same targets.
CHECKS := test storage long spark sql streams dashboard interop cluster
# Two processes; one that has no more tests takes some of the other's.
PYTEST2 = $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: help setup demo test check long spark cluster streams sql dashboard lint format interop storage bench soak java browser servers clean

help:
	@echo "make demo       a chain table on Spark: a full load, a month of changes, any day whole, compaction, storage"
	@echo "make test       lint, types, layers, fast tests and a smoke on Spark: before every push (8 minutes on 2 cores)"
	@echo "make check      everything: all of the targets below up to cluster, with a table of their times (about 65 minutes)"
	@echo "make storage    S3, Google Cloud Storage, Azure and HDFS: tables on real servers on this machine (Go, Node, Maven)"
	@echo "make long       fault matrices, races and benchmarks, and properties and state machines with all of their examples"
	@echo "make spark      tables read and written on Spark, in a local session"
	@echo "make sql        SQL files through the Spark catalog"
	@echo "make streams    streams in running queries, and with drivers and workers killed"
	@echo "make dashboard  the web pages in a real browser"
	@echo "make interop    the same tables through pypaimon and Apache Paimon itself (Java and Maven)"
	@echo "make cluster    Spark clusters of several processes, and Spark Connect"
	@echo "make lint       ruff, ruff format, mypy --strict, Java sources; make format repairs what can be repaired"
	@echo "make bench      speed and memory beside other table stores (minutes)"
	@echo "make soak       races, faults and random histories, twenty times over (an hour)"

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Lakebed needs Python 3.11 or newer, this is %d.%d; set PYTHON=..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.spark: $(VENV)/.runtime requirements/spark.txt
	$(BIN)/python -m pip install --quiet -r requirements/spark.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.spark requirements/service.txt requirements/dev.txt
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	@touch $@

setup: $(VENV)/.dev java

java:
	@bash tools/java.sh

browser:
	@bash tools/browser.sh

servers:
	@bash tools/servers.sh

demo: $(VENV)/.spark java
	$(BIN)/python examples/demo.py

lint: $(VENV)/.dev java
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python tools/check_java.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

test: lint java
	$(PYTEST2) -m "not long" src tests $(addprefix --ignore=,$(APART))
	$(BIN)/python -m pytest $(SMOKE)

check:
	@bash tools/check.sh $(CHECKS)

storage: $(VENV)/.dev servers
	$(PYTEST2) $(STORAGE)
	LAKEBED_TEST_STORAGE=s3 $(PYTEST2) -m "not long" $(ON_STORAGE)

long: $(VENV)/.dev
	LAKEBED_EFFORT=full $(PYTEST2) -m "long or scales or hypothesis" tests $(addprefix --ignore=,$(APART))

spark: $(VENV)/.dev java
	$(PYTEST2) tests/spark tests/datasource tests/cli/commands/test_sql_on_spark.py $(addprefix --ignore=,$(STREAMS) $(KILLS))

cluster: $(VENV)/.dev java
	$(PYTEST2) --dist loadfile tests/spark_cluster

streams: $(VENV)/.dev java
	$(PYTEST2) $(STREAMS)
	$(BIN)/python -m pytest $(KILLS)

sql: $(VENV)/.dev java
	$(PYTEST2) tests/sql --ignore=$(COSTS)
	$(BIN)/python -m pytest $(COSTS)

dashboard: $(VENV)/.dev browser
	$(PYTEST2) tests/dashboard

interop: $(VENV)/.dev
	bash interop/setup.sh
	bash tools/servers.sh minio
	$(PYTEST2) tests/interop

bench: $(VENV)/.dev java
	bash bench/setup.sh
	.venv-bench/bin/python -m bench
	.venv-bench/bin/python -m bench.upserts
	.venv-bench/bin/python -m bench.maintenance
	.venv-bench/bin/python -m bench.manifests
	.venv-bench/bin/python -m bench.history
	.venv-bench/bin/python -m bench.dynamic_buckets
	bash tools/servers.sh minio
	.venv-bench/bin/python -m bench.storage
	$(BIN)/python -m bench.durability
	$(BIN)/python -m bench.chain
	$(BIN)/python -m bench.service
	$(BIN)/python -m bench.autopilot --minutes 10
	$(BIN)/python -m bench.spark_write
	$(BIN)/python -m bench.spark_read --repeats 7
	.venv-bench/bin/python -m bench.streaming

soak: $(VENV)/.dev
	LAKEBED_EFFORT=full LAKEBED_RACE_ROUNDS=20 LAKEBED_RACE_SECONDS=60 LAKEBED_FAULTS=all LAKEBED_KILLS=400 LAKEBED_FUZZ=20000 $(BIN)/python -m pytest tests/races tests/faults tests/fuzz
	LAKEBED_EFFORT=full LAKEBED_HISTORIES=20 $(BIN)/python -m pytest tests/state_machines/test_maintenance_machine.py
	LAKEBED_STREAM_BATCHES=50 LAKEBED_STREAM_KILLS=20 $(BIN)/python -m pytest $(KILLS)

clean:
	rm -rf $(VENV) .venv-bench .interop .java-check demo-warehouse .mypy_cache .ruff_cache .pytest_cache .hypothesis
