# make web: the engine for browsers and other JavaScript runtimes, as an ES module with types in build/web; prints its size.
# It needs Rust's target wasm32-unknown-unknown, or Debian's rustc-web, cargo-web, rust-web-src and lld-19; and binaryen.
# make playground: the page of the playground without a server in build/playground; index.html opens by a double click.
# make test-web: the module gives the ids of the native engine, in node.
.PHONY: web playground test-web

WEB := $(shell find crates/web/js -type f) crates/web/Cargo.toml scripts/web.sh scripts/classic_js.py \
    python/toksmith/_playground/bundle.py

web: build/web/.built

build/web/.built: $(NATIVE) $(WEB) | .venv/.built
	PYTHON=$(PY) bash scripts/web.sh build/web
	@touch $@

playground: build/web/.built
	PYTHONPATH=scripts $(PY) -m docs_site.playground build/playground

test-web: build/web/.built .venv/.tools
	$(PYTEST) tests/web
