"""The HISS paper."""
