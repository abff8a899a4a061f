"""Text for people: numbers, words, what a terminal may show, and secrets. Nothing else formats."""
