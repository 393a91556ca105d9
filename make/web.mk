# make web: the engine for browsers and other JavaScript runtimes, as an ES module with types in dist/web; prints its size.
# It needs Rust's target wasm32-unknown-unknown, or Debian's rustc-web, cargo-web, rust-web-src and lld-19; and binaryen.
# make test-web: the module gives the ids of the native engine, in node.
.PHONY: web test-web

WEB := crates/web/js/* crates/web/Cargo.toml scripts/web.sh

web: dist/web/.built

dist/web/.built: $(NATIVE) $(wildcard $(WEB))
	bash scripts/web.sh dist/web
	@touch $@

test-web: dist/web/.built .venv/.tools
	$(PYTEST) tests/web
