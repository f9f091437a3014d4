"""Text: markup to paragraphs, paragraphs to sentences, their language, and which documents are prose."""
