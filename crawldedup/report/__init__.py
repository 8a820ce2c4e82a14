"""Reports of crawls, from the journals that their processes wrote."""
