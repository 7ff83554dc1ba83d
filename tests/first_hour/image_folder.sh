# guide: docs/guide/images.md
# Scans of marks; the newer camera was mounted at an angle.
driftfit check scans/ --label kind --order batch --by-value
driftfit adapt scans/ --label kind --order batch --by-value -o run/
driftfit predict run/ scans/ -o predictions.csv
