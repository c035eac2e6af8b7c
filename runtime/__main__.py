"""``python -m tengen``: the command ``tengen``, where the environment's scripts are not on the path."""

import sys

from tengen.codegen.cli import main

sys.exit(main())
