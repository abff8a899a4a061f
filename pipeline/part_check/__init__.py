"""``bakeoff check``: what is wrong with a part of the user, found on tables that are made for it.

`part` reads nothing: it holds the composed keys of a file. Each other module checks one kind of part, by functions that
return findings; `checks` knows which functions belong to which kind.
"""
