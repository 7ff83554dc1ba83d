# guide: docs/guide/reproduce.md
# One row of the paper's table 6, with few samples.
driftfit datasets
driftfit paper covtype --given 2 --generated 0,1 --seeds 1 --samples 60 --device cpu
driftfit runs
