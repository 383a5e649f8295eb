"""``python -m lakebed.options`` prints ``docs/options.md``."""

import sys

from lakebed.options import to_markdown

sys.stdout.write(to_markdown())
