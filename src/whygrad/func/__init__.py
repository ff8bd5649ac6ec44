"""torch.func: functions of functions. Derivatives of any order and direction, and vmap, which nest freely."""
_whygrad_internal_ = True
