# make manual: writes the files that a program makes: the manual page, the page of the package, the URLs of the project.
# make bump VERSION=0.3.0: gives the project that version, everywhere.
.PHONY: manual bump

MANUAL := make/wheel/data/share/man/man1/toksmith.1
RELEASE := PYTHONPATH=scripts $(PY) -m release

manual: .venv/.built
	.venv/bin/toksmith help --man > $(MANUAL)
	$(RELEASE).package_page

bump: $(MADE)
	$(RELEASE).bump "$(VERSION)"
	$(RELEASE).package_page
