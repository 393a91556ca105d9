# make demo | test | test-browser | check | bench | bench-train | wheel. Each sets up what it needs in .venv by itself, once.
# PYTHON=/path/to/python chooses the interpreter; UV= (empty) installs with pip even where uv is there.
.DELETE_ON_ERROR:
.PHONY: build demo test test-browser check bench bench-train wheel

PY := .venv/bin/python
MATURIN := maturin==1.16.0
NATIVE := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml $(wildcard Cargo.lock) pyproject.toml
PACKAGE := $(shell find python -name '*.py' -o -name '*.pyi') README.md LICENSE

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
	@scripts/venv.sh .venv $(MATURIN)
	@touch $@

.venv/.built: $(MADE) $(NATIVE)
	@command -v cargo >/dev/null || { echo "toksmith: needs Rust and finds no cargo; see https://rustup.rs" >&2; exit 1; }
	.venv/bin/maturin develop --release --extras download,play
	@touch $@

.venv/.tools: tests/requirements.txt tests/requirements-alone.txt .venv/.built
	@scripts/venv.sh .venv -r $< && scripts/venv.sh .venv --no-deps -r tests/requirements-alone.txt
	@touch $@

dist/.built: .venv/.built $(PACKAGE)
	rm -rf dist
	.venv/bin/maturin build --release --strip --interpreter $(PY) --out dist
	.venv/bin/maturin sdist --out dist
	@touch $@

.venv-bench/.made: bench/requirements.txt dist/.built
	@PYTHON=$(PY) scripts/venv.sh .venv-bench -r $< dist/*.whl
	@PYTHON=$(PY) scripts/venv.sh .venv-bench --force-reinstall --no-deps dist/*.whl
	@touch $@

demo: .venv/.built
	$(PY) -m toksmith._demo

test: .venv/.tools
	cargo test --quiet --package toksmith-core
	$(PY) -m pytest
test-browser: .venv/.tools; @scripts/browser.sh $(PY) -s

check: .venv/.tools
	@scripts/check.sh $(PY)

bench bench-train: .venv-bench/.made
	.venv-bench/bin/python -m $(subst bench-train,bench.training,$@)

wheel: dist/.built
