"""Modules around models of transformers, and the assets of their files, for export_text()."""
