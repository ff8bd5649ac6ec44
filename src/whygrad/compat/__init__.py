"""Modules that only imitate torch's surface: accepted switches, legacy constructors, submodules without a counterpart here."""
