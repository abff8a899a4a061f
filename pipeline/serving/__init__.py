"""A model over HTTP: predictions by the protocol of MLflow's scoring server."""

from bakeoff.pipeline.serving.server import is_loopback, name_address, open_socket, run_server

__all__ = ["is_loopback", "name_address", "open_socket", "run_server"]
