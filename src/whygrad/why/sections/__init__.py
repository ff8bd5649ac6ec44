"""The sections of the HTML report; report.py puts them together."""
