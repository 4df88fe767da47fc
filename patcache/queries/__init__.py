"""Every read that the command line and the screens show, one file per subject."""
