dist_man_MANS = man/gpubind.1 man/gpubind.7
