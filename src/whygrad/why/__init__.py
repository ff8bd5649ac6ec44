"""Explanations: what is recorded, the rules that find a cause, the edits that mend it, and reports. See README.md."""
