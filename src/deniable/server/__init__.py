"""The collector: a service that asks, takes reports and counts them, and learns no record."""
