"""Expiry: of snapshots, of partitions, and of long-lived changelogs."""
