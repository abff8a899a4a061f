"""Shipping: the procedure of a run, fitted on all rows and registered under a name, so that others can call it."""

from bakeoff.pipeline.shipping.ship import ShippedModel, ShipRequest, ship_run

__all__ = ["ShipRequest", "ShippedModel", "ship_run"]
