"""Adapters through the providers' real SDKs, against servers of ours that speak their formats."""
