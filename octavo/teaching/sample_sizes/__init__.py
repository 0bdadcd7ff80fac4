"""How many examples learning takes: shattering, growth, sample sizes, the tight rectangle."""
