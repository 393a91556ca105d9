"""Files and folders, here or behind URLs: read with limits, written whole or not at all."""
