"""OpenAI's SDK as a witness of requests and answers."""
