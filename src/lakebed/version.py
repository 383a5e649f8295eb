"""The version of this package, written into every snapshot it commits."""

VERSION = "0.1.0"
