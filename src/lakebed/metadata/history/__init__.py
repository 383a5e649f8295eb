"""The history of a branch: pages of snapshots and compactions, and the index that makes a page cheap."""
