"""PyTorch modules as learners: training, files, and the classifier."""
