dist_man_MANS = man/gpubind.1 man/gpubind.7
# The picture in README.md.
EXTRA_DIST += man/placement.svg
