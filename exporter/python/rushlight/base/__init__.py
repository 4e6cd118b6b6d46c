"""Used by all other folders: errors, the lock, and text for terminals."""
