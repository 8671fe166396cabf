"""What the tools of Google's services share."""
