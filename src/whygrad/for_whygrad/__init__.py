"""whygrad's own engine, as `why` reads it (see why/engine.py)."""
