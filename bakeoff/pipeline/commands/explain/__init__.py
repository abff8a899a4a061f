"""Global explanations of a model's predictions, column by column.

Importances are measured on test rows with models that were fitted without them. Everything else describes one model:
its partial dependence and the interpretable parts of its learner. `explain_stored` answers a request.
"""
