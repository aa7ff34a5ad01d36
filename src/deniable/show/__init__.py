"""What people see: charts, and tables in a terminal."""
