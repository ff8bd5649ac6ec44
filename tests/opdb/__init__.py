"""torch's own operator samples (`op_db`), run on torch and on whygrad."""
