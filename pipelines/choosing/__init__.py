"""Choose documents across the corpus: facts of each, rules that say which go, rounds that carry the rules, shards rewritten."""
