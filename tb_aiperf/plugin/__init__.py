"""The TensorBoard plugin."""
