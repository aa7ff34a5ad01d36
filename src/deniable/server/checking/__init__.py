"""What `deniable check` looks at: a collector's address, its store, its machine. Nothing is changed."""
