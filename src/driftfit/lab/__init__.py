"""The paper's tables, sweeps and the demonstration: they use the library, and only the command line uses them."""
