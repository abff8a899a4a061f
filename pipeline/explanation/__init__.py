"""Global explanations of a model's predictions, column by column.

Importances are measured on test rows with the models that were fitted without them. Everything else describes one
model: partial dependence, and what its learner says of itself.
`explain_stored` answers a request.
"""
