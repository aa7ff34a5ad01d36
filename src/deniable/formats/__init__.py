"""Reading and writing what crosses a boundary: forms, bounded reads, whole writes."""
