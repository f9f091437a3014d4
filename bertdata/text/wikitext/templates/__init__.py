"""Templates, parser functions and parameters: what stands in double and triple braces, and the words that it shows."""

from .expand import PageContext, expand_templates
from .table import Templates, load_templates

__all__ = ["PageContext", "Templates", "expand_templates", "load_templates"]
