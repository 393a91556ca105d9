"""What a release needs: its number, its settings, its archives, and the checks of `make release-check`."""
