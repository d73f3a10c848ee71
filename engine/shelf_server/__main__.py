"""`python -m engine.shelf_server --home DIR`."""

import argparse
from pathlib import Path

from engine.shelf_server.process import main

parser = argparse.ArgumentParser(prog="shelf-server", description="Serve shelves over stdin and stdout.")
parser.add_argument("--home", type=Path, required=True, help="folder of the registry and the default shelf")
raise SystemExit(main(parser.parse_args().home))
