"""The fronts: each turns one kind of model into a `Captured` program, which the exporter takes. `capture.py` chooses the front."""
