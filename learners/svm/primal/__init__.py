"""Interior point solvers of the linear primal, which has d + 1 unknowns for any number of rows."""
