# make demo | quick | test | check, and the rare ones of make/*.mk: proofs | proofs-ci | test-browser | test-readers |
# test-ray | test-clients | test-servers | test-llama | test-model | web | playground | test-web | bench | bench-quick |
# bench-train | bench-corpus | wheel | release-check | bump | docs.
# Each sets up what it needs in .venv by itself, once.
# PYTHON=/path/to/python chooses the interpreter; UV= (empty) installs with pip even where uv is there.
.DELETE_ON_ERROR:
.PHONY: build demo quick test check

PY := .venv/bin/python
MATURIN := maturin==1.16.0
NATIVE := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml $(wildcard Cargo.lock) pyproject.toml

# An environment that is active in the calling shell must not leak into ours.
unexport CONDA_PREFIX PYTHONPATH PYTHONHOME CARGO_BUILD_TARGET
export VIRTUAL_ENV := $(CURDIR)/.venv
export PYO3_PYTHON := $(CURDIR)/$(PY)
export PATH := $(PATH):$(HOME)/.cargo/bin
export PYTHON

build: .venv/.built

# Stamps live in the environment and die with it; this one is named after PYTHON, so that another choice makes it anew.
MADE := .venv/.made-$(subst /,_,$(PYTHON))
$(MADE): scripts/venv.sh Makefile
	@bash scripts/venv.sh .venv $(MATURIN)
	@touch $@

.venv/.built: $(MADE) $(NATIVE)
	@command -v cargo >/dev/null || { echo "toksmith: needs Rust and finds no cargo; see https://rustup.rs" >&2; exit 1; }
	.venv/bin/maturin develop --profile develop --extras download,play
	@touch $@

.venv/.tools: tests/requirements.txt tests/requirements-alone.txt .venv/.built
	@bash scripts/venv.sh .venv -r $< && bash scripts/venv.sh .venv --no-deps -r tests/requirements-alone.txt
	@touch $@

demo: .venv/.built
	$(PY) scripts/demo.py

# A process for each processor, at most eight; a file's tests, which share what is slow to make, stay in one process.
PYTEST := $(PY) -m pytest
PARALLEL := --numprocesses=auto --maxprocesses=8 --dist=loadfile
# The proofs of the core (make/proofs.mk) have these names in their paths.
CORE_PROOFS := scan onig

quick: .venv/.tools
	cargo test --quiet --package toksmith-core --lib -- $(addprefix --skip ,$(CORE_PROOFS))
	HYPOTHESIS_PROFILE=quick $(PYTEST) $(PARALLEL) --quick

test: .venv/.tools
	cargo test --quiet --package toksmith-core -- $(addprefix --skip ,$(CORE_PROOFS))
	$(PYTEST) $(PARALLEL) -m "not proof or short"

check: .venv/.tools
	@bash scripts/check.sh $(PY)

include $(sort $(wildcard make/*.mk))
