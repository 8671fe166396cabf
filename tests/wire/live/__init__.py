"""Live connections through the real SDKs, against WebSocket servers of ours."""
