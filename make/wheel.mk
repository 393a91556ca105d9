# make wheel: a wheel and a source distribution in dist/.
.PHONY: wheel

MANUAL := make/wheel/data/share/man/man1/toksmith.1
PACKAGE := $(shell find python -name '*.py' -o -name '*.pyi') README.md LICENSE

wheel: dist/.built

dist/.built: .venv/.built $(PACKAGE)
	rm -rf dist
	.venv/bin/toksmith help --man > $(MANUAL)
	.venv/bin/maturin build --release --strip --interpreter $(PY) --out dist
	.venv/bin/maturin sdist --out dist
	@touch $@
