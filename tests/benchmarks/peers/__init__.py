"""The peers that traces are compared with, in an environment of their own, and how a run of each is measured."""
