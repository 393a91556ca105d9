# make wheel: a wheel for the interpreter of .venv and a source distribution, in dist/. make wheels: a wheel for each CPython of
# this machine, in build/wheels/. make try-wheels: installs each wheel into a fresh folder and runs README.md's lines there.
# make release-check: every check of a release that one machine can run. ONLY="wheel page" chooses checks.
# make manual: writes the generated files: the manual page, the page of the package, the URLs of the project.
# make notices: the licences of all crates, after a change of Cargo.lock. make bump VERSION=0.3.0: a new version, everywhere.
.PHONY: wheel wheels try-wheels release-check manual notices bump

MANUAL := make/wheel/data/share/man/man1/toksmith.1
PACKAGE := $(shell find python make/wheel -name '*.py' -o -name '*.pyi' -o -name '*.1') make/PACKAGE.md LICENSE NOTICES.txt
RELEASE := PYTHONPATH=scripts $(PY) -m release
DENY := cargo-deny@0.20.2
ABOUT := cargo-about@0.9.3

wheel: dist/.built

wheels: build/wheels/.built

dist/.built: .venv-release/.made $(NATIVE) $(PACKAGE)
	bash scripts/release/wheel.sh dist $(PY)
	@touch $@

build/wheels/.built: .venv-release/.made $(NATIVE) $(PACKAGE)
	bash scripts/release/wheel.sh build/wheels $$(PYTHONPATH=scripts $(PY) -m release.interpreters | cut -d' ' -f1)
	@touch $@

try-wheels: build/wheels/.built
	PYTHON=$(PY) bash scripts/try_wheel.sh build/wheels

release-check: .venv/.built .venv-release/.made build/wheels/.built target/tools/.made
	PYTHONPATH=scripts .venv-release/bin/python -m release.ready $(ONLY)

manual: .venv/.built
	.venv/bin/toksmith --man > $(MANUAL)
	$(RELEASE).package_page

notices: target/tools/.made
	bash scripts/release/notices.sh > target/NOTICES.txt
	mv target/NOTICES.txt NOTICES.txt

bump: $(MADE)
	$(RELEASE).bump "$(VERSION)"
	$(RELEASE).package_page

.venv-release/.made: scripts/release/requirements.txt $(MADE)
	@PYTHON=$(PY) bash scripts/venv.sh .venv-release -r $<
	@touch $@

# Programs in Rust, which are compiled once.
target/tools/.made: make/release.mk
	cargo install --quiet --locked --root target/tools $(DENY)
	cargo install --quiet --locked --root target/tools $(ABOUT) --features cli
	@touch $@
