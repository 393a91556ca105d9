# make bump VERSION=0.3.0: gives the project that version, everywhere.
.PHONY: bump

bump: $(MADE)
	PYTHONPATH=scripts $(PY) -m release.bump "$(VERSION)"
