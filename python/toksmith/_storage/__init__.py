"""Files and folders, local or at URLs: read with limits, written completely or not at all."""
