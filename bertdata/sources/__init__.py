"""Read Wikipedia dumps, books and other text into pages, paragraphs and rejects with named reasons."""
