"""What every wing stands on: errors, arguments, paths, threads, progress and the system."""
