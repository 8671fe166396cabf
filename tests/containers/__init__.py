"""The attempts of the local sandbox, made in a real container."""
