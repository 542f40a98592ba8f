__version__ = "0.5.0"
"""The version of this package and of the API that it is written for."""
