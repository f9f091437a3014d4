"""Say what a data set holds: data cards and decoded examples."""
