"""Where pictures and translations lie."""

from engine.paths import resource as resource
