"""The server in AG-UI's words: agents behind pages and apps that speak that protocol."""
