"""Records to TensorBoard summaries and back."""
