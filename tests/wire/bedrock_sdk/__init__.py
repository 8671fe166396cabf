"""The Bedrock adapter beside boto3, which lives in an environment of its own."""
