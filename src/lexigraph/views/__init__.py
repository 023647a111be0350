"""What people look at: curves, tables and pages."""
