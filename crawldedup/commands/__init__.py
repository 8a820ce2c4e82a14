"""What commands do, and the files that they read and write."""
