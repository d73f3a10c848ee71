"""`python -m engine`: the command line without a screen."""

from engine.cli import main

raise SystemExit(main())
