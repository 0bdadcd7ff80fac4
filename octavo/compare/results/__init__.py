"""What a comparison leaves: a page with pictures, code, a saved model."""
