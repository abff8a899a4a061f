"""Marks for sheets of `bakeoff work` that students have filled in, and for configurations that an exercise asks for."""
