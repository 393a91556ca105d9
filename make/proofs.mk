# make proofs: the long proofs of docs/proofs.md in full, which takes hours. make proofs-ci: the part of them that CI runs.
# WHICH="tests/test_paths.py -k drawn" runs those proofs of the package only, in full or in part.
.PHONY: proofs proofs-ci

proofs: .venv/.tools
	$(if $(WHICH),,TOKSMITH_EXHAUSTIVE=1 cargo test --package toksmith-core --lib -- $(CORE_PROOFS) --nocapture)
	TOKSMITH_EXHAUSTIVE=1 $(PYTEST) $(PARALLEL) -m "proof and not alone" $(WHICH)
	TOKSMITH_HUGE=1 TOKSMITH_SPEED=1 $(PYTEST) -s -m "proof and alone" $(WHICH)

proofs-ci: .venv/.tools
	$(if $(WHICH),,cargo test --quiet --package toksmith-core -- $(CORE_PROOFS))
	$(PYTEST) $(PARALLEL) -m "proof and not short" $(WHICH)
