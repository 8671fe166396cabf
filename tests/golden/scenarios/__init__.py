"""The scenarios, by topic. Each is one async function that gets a Kit."""
