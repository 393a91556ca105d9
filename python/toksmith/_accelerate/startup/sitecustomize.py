"""Python imports this when it starts in `toksmith run`: transformers gets toksmith's engine when a program imports it.

The program's own `sitecustomize`, if there is one, runs too.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

from toksmith._accelerate.at_import import accelerate_if_asked

accelerate_if_asked()

_HERE = os.path.dirname(os.path.abspath(__file__))
_spec = PathFinder.find_spec("sitecustomize", [each for each in sys.path if os.path.abspath(each) != _HERE])
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(module_from_spec(_spec))
