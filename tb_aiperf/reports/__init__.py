"""Stored records to answers: plain dictionaries, the same for plugin and command line."""
