"""`python -m patcache` is the command line."""

from patcache.cli import main

main()
