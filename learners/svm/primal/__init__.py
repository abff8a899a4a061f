"""Interior point solvers of the linear primal, which has d + 1 unknowns, whatever the number of rows."""
