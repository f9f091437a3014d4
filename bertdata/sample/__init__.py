"""The sample input that comes with bertdata: two small dumps and three short books, all our own writing."""
