"""Measures a running program into records. Nothing here raises into the program."""
