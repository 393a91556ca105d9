# make proofs: the long proofs of docs/proofs.md in full, which take hours. make proofs-ci: the part of them that CI runs but
# make test does not. WHICH="tests/tokenizer/test_paths.py -k drawn" chooses among the package's proofs, and skips the core's.
.PHONY: proofs proofs-ci

NONE_IS_FINE := $(if $(WHICH),|| [ $$? -eq 5 ])  # the choice can have no proof of one kind
# The specification in Rust: both builds of the core give the ids of one digest (crates/core/tests/fuzz_seeds.rs).
WITHOUT_FAST := cargo test --quiet --package toksmith-core --no-default-features --features onig,regex-full,sais,zstd

proofs: .venv/.tools
	$(if $(WHICH),,TOKSMITH_EXHAUSTIVE=1 cargo test --package toksmith-core -- $(CORE_PROOFS) --nocapture)
	$(if $(WHICH),,$(WITHOUT_FAST))
	TOKSMITH_EXHAUSTIVE=1 $(PYTEST) $(PARALLEL) -m "proof and not alone" $(WHICH) $(NONE_IS_FINE)
	TOKSMITH_HUGE=1 TOKSMITH_SPEED=1 $(PYTEST) -s -m "proof and alone" $(WHICH) $(NONE_IS_FINE)

proofs-ci: .venv/.tools
	$(if $(WHICH),,cargo test --quiet --package toksmith-core -- $(CORE_PROOFS))
	$(if $(WHICH),,$(WITHOUT_FAST))
	$(PYTEST) $(PARALLEL) -m "proof$(if $(WHICH),, and not short)" $(WHICH)
