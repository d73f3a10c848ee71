"""Entry of the windowed program."""

from desktop.main import main

raise SystemExit(main())
