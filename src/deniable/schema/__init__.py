"""What a person holds: attributes, records and frames as codes, labels and periods."""
