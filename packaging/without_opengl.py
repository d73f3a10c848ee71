"""Run before the windowed program: stands in for Qt's OpenGL, which would take ten megabytes.

pyqtgraph asks for it at its import, and uses it only for plots that are painted by it; ours are not.
"""

import sys
from types import ModuleType

opengl, widgets = ModuleType("PySide6.QtOpenGL"), ModuleType("PySide6.QtOpenGLWidgets")
widgets.QOpenGLWidget = object  # type: ignore[attr-defined]
sys.modules |= {one.__name__: one for one in (opengl, widgets)}
