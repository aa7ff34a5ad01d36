"""What people see: charts, reports, exports, and tables in a terminal."""
