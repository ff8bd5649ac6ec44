"""Questions in words: what they are about, which findings fit them, and what was looked at if none does."""
