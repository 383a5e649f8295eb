"""``python -m lakebed.storage`` prints the tables of settings for ``docs/storage.md``."""

import sys

from lakebed.storage.option_markdown import to_markdown

sys.stdout.write(to_markdown())
