"""Results as files of other programs' formats, one file each."""
