"""Templates, parser functions and parameters: the content of double and triple braces, and the words that it produces."""
