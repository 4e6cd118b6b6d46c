"""Small definitions of network families. Each module has MODELS: {name: (makes the model, makes a tuple of inputs)}."""
