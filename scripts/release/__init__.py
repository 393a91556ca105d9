"""The parts of a release: its number, its settings, its archives, and the checks of `make release-check`."""
