"""Templates, parser functions and parameters: the content of double and triple braces, and the words that it produces."""

from .expand import PageContext, expand_templates
from .table import Templates, load_templates

__all__ = ["PageContext", "Templates", "expand_templates", "load_templates"]
