"""The base of every wing: errors, arguments, paths, threads and the system."""
