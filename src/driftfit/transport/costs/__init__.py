"""What it costs to move samples: cost values, tables of all costs, and passes over them."""
